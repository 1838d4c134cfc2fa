import { readFileSync } from 'node:fs'

/** Prints the sum of what test runs counted. Fails when something failed, or when a run counted nothing. */
const runs = process.argv.slice(2).map((file) => {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    // A run that ended before it could count is not a run in which nothing failed.
    return { passed: 0, failed: 1, skipped: 0 }
  }
})
const total = (name) => runs.reduce((sum, run) => sum + run[name], 0)

if (total('skipped') > 0) console.log(`${total('skipped')} skipped (named above)`)
console.log(`${total('passed')} passed, ${total('failed')} failed`)
process.exitCode = total('failed') > 0 || runs.some((run) => run.passed === 0) ? 1 : 0
