import { afterAll } from 'vitest'

/**
 * For the tests of one block or file: whatever is handed to the result is disposed of after the last of them, the newest first,
 * and also when something after it did not start.
 */
export const disposeAfterAll = () => {
  const kept: AsyncDisposable[] = []
  afterAll(async () => {
    for (const one of kept.reverse()) await one[Symbol.asyncDispose]()
  })
  return <T extends AsyncDisposable>(one: T): T => {
    kept.push(one)
    return one
  }
}
