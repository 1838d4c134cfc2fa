import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import type { Reporter, SerializedError, TestCase, TestModule, TestSuite } from 'vitest/node'

/** Seconds of a file. More of them is a file to be divided, or one that waits where it could be told. */
const budget = 20
/** Characters of an error: some messages hold a whole page. */
const longest = 300

/** What `.ci/sum-counts.js` prints of a failure: where, what, and the first line of the error. */
interface Failure {
  readonly project: string
  readonly file: string
  readonly name: string
  readonly error: string
}

const firstLine = (errors: readonly { readonly message: string }[]): string => {
  const lines = stripVTControlCharacters(errors[0]?.message ?? '').split('\n')
  return (lines.find((line) => line.trim() !== '') ?? 'no message').trim().slice(0, longest)
}

const failureOf = (at: TestCase | TestSuite, errors: readonly { readonly message: string }[]): Failure => ({
  project: at.project.name,
  file: at.module.relativeModuleId,
  name: at.fullName,
  error: firstLine(errors),
})

/** A file that does not load has no tests, and the tests of a `describe` whose hook failed count as skipped. */
const failuresIn = (module: TestModule): Failure[] => {
  const { project, relativeModuleId: file, children } = module
  const ofFile = module.errors()
  const suites = [...children.allSuites()].filter((suite) => suite.errors().length > 0)
  const tests = [...children.allTests()].filter((test) => test.result().state === 'failed')
  return [
    ...(ofFile.length > 0 ? [{ project: project.name, file, name: 'the file itself', error: firstLine(ofFile) }] : []),
    ...suites.map((suite) => failureOf(suite, suite.errors())),
    ...tests.map((test) => failureOf(test, test.result().errors ?? [])),
  ]
}

/** Repeats at the end what was skipped and which files took long, and writes counts and failures where `SIGNET_TEST_COUNTS` says. */
export default class CountsReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly SerializedError[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()])
    const inState = (state: string) => tests.filter((test) => test.result().state === state)

    const skipped = inState('skipped')
    for (const test of skipped) console.log(`SKIPPED ${test.module.relativeModuleId}: ${test.fullName}`)

    const durations = modules.map((module) => ({ module, seconds: module.diagnostic().duration / 1000 }))
    for (const { module, seconds } of durations.toSorted((one, other) => other.seconds - one.seconds))
      if (seconds > budget)
        console.log(
          `OVER ${String(budget)} s ${module.project.name} ${module.relativeModuleId}: ${seconds.toFixed(0)} s`,
        )

    const path = process.env['SIGNET_TEST_COUNTS']
    if (path === undefined) return
    const unhandled = unhandledErrors.map((error) => ({
      project: 'the run',
      file: 'outside of a test',
      name: 'unhandled error',
      error: firstLine([error]),
    }))
    const failures = [...modules.flatMap(failuresIn), ...unhandled]
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, JSON.stringify({ passed: inState('passed').length, skipped: skipped.length, failures }))
  }
}
