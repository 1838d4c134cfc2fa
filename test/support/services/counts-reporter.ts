import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Reporter, TestModule } from 'vitest/node'

/** Repeats at the end what was skipped, and writes the counts where `SIGNET_TEST_COUNTS` says. */
export default class CountsReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()])
    const inState = (state: string) => tests.filter((test) => test.result().state === state)

    const skipped = inState('skipped')
    for (const test of skipped) console.log(`SKIPPED ${test.module.relativeModuleId}: ${test.fullName}`)

    // A file that does not load has no tests, and an error outside of a test belongs to none: both are failures.
    const broken = modules.filter((module) => module.errors().length > 0).length
    const failed = inState('failed').length + broken + unhandledErrors.length
    const path = process.env['SIGNET_TEST_COUNTS']
    if (path === undefined) return
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, JSON.stringify({ passed: inState('passed').length, failed, skipped: skipped.length }))
  }
}
