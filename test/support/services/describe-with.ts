import { describe, it } from 'vitest'
import { findService, howToGet, onContinuousIntegration, type ServiceName } from './table.js'

/**
 * `describe` for tests that need a service, or several; they get the path of the first one's program. Where one is
 * missing they are skipped, and the end of the run says so; on continuous integration they fail.
 */
export const describeWith = (
  needed: ServiceName | readonly [ServiceName, ...ServiceName[]],
  title: string,
  tests: (path: string) => void,
): void => {
  const names = [needed].flat()
  const missing = names.filter((name) => findService(name) === undefined)
  const [path] = names.map(findService)
  if (missing.length === 0 && path !== undefined) {
    describe(title, () => tests(path))
    return
  }
  const needs = `needs ${missing.map(howToGet).join(', ')}`
  if (onContinuousIntegration()) {
    it(title, () => {
      throw new Error(needs)
    })
  } else it.skip(`${title}: ${needs}`)
}
