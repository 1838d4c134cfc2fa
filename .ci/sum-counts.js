import { readFileSync } from 'node:fs'
import { basename } from 'node:path'

/** Prints what failed, and the sum of what test runs counted. Fails when something failed, or when a run counted nothing. */
const runs = process.argv.slice(2).map((file) => {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    // A run that ended before it could count is not a run in which nothing failed.
    const failure = { project: 'run', file: basename(file, '.json'), name: 'all of it', error: 'ended without a count' }
    return { passed: 0, skipped: 0, failures: [failure] }
  }
})
const total = (name) => runs.reduce((sum, run) => sum + run[name], 0)
const failures = runs.flatMap((run) => run.failures)

if (total('skipped') > 0) console.log(`${total('skipped')} skipped (named above)`)
for (const { project, file, name, error } of failures) console.log(`FAILED ${project} ${file} > ${name}: ${error}`)
console.log(`${total('passed')} passed, ${failures.length} failed`)
process.exitCode = failures.length > 0 || runs.some((run) => run.passed === 0) ? 1 : 0
