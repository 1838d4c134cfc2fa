import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Reporter, TestModule } from 'vitest/node'

/** Seconds of a file. More of them is a file to be divided, or one that waits where it could be told. */
const budget = 20

/** Repeats at the end what was skipped and which files took long, and writes the counts where `SIGNET_TEST_COUNTS` says. */
export default class CountsReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
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

    // A file that does not load has no tests, and an error outside of a test belongs to none: both are failures.
    const broken = modules.filter((module) => module.errors().length > 0).length
    const failed = inState('failed').length + broken + unhandledErrors.length
    const path = process.env['SIGNET_TEST_COUNTS']
    if (path === undefined) return
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, JSON.stringify({ passed: inState('passed').length, failed, skipped: skipped.length }))
  }
}
