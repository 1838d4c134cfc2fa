import { describe, it } from 'vitest'
import { findService, howToGet, onContinuousIntegration, type ServiceName } from './table.js'

/**
 * `describe` for tests that need a service; they get the path of its program. Where it is missing they are skipped,
 * and the end of the run says so; on continuous integration they fail.
 */
export const describeWith = (name: ServiceName, title: string, tests: (path: string) => void): void => {
  const path = findService(name)
  if (path !== undefined) {
    describe(title, () => tests(path))
    return
  }
  if (onContinuousIntegration()) {
    it(title, () => {
      throw new Error(`needs ${howToGet(name)}`)
    })
  } else it.skip(`${title}: needs ${howToGet(name)}`)
}
