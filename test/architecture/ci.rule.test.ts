import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { packageRoot } from '../../core/package-root.js'

const directory = mkdtempSync(join(tmpdir(), 'signet-ci-'))
afterAll(() => rmSync(directory, { recursive: true }))

const counts = join(directory, 'counts.json')

const run = (command: string, args: readonly string[], env: Readonly<Record<string, string>>) =>
  spawnSync(command, args, { cwd: packageRoot, encoding: 'utf8', env: { ...process.env, ...env } })

/** Files of tests that fail in each way that a run can fail. */
const failing = {
  'test.test.js': `
    it('passes', () => {})
    it.skip('is left out', () => {})
    describe('an answer', () => { it('is right', () => { throw new Error('\\n\\u001b[31mfirst line\\u001b[0m\\nsecond') }) })`,
  'hook.test.js': `describe('a service', () => { beforeAll(() => { throw new Error('no port') }); it('serves', () => {}) })`,
  'file-hook.test.js': `beforeAll(() => { throw new Error('no folder') }); it('writes', () => {})`,
  'file.test.js': `throw new Error('no such module')`,
  'unhandled.test.js': `it('leaves', () => { void Promise.reject(new Error('nobody waits')) })`,
}

it('a test run counts each kind of failure, with its location and the first line of its error', () => {
  const tests = join(directory, 'tests')
  mkdirSync(tests)
  for (const [name, text] of Object.entries(failing)) writeFileSync(join(tests, name), text)
  const vitest = join(packageRoot, 'node_modules/vitest/vitest.mjs')
  const reporter = join(packageRoot, 'test/support/services/counts-reporter.ts')
  const args = [vitest, 'run', '--root', tests, '--globals', '--reporter', reporter]
  expect(run(process.execPath, args, { SIGNET_TEST_COUNTS: counts }).status).toBe(1)

  const { passed, failures } = JSON.parse(readFileSync(counts, 'utf8')) as {
    readonly passed: number
    readonly failures: readonly Record<'file' | 'name' | 'error', string>[]
  }
  expect(passed).toBe(2)
  expect(failures.map(({ file, name, error }) => `${file} > ${name}: ${error}`).sort()).toEqual([
    'file-hook.test.js > the file itself: no folder',
    'file.test.js > the file itself: no such module',
    'hook.test.js > a service: no port',
    'outside of a test > unhandled error: nobody waits',
    'test.test.js > an answer > is right: first line',
  ])
})

it('.ci/run ends with the names of the failed steps and tests', () => {
  const failure = { project: 'embedded', file: 'test/a.unit.test.ts', name: 'a > b', error: 'expected 1 to be 2' }
  writeFileSync(counts, JSON.stringify({ passed: 3, skipped: 1, failures: [failure] }))
  const passing = JSON.stringify({ passed: 4, skipped: 0, failures: [] })
  // `npm test` counts a failure, `npm run test:more` ends without a count.
  const npm = `#!/usr/bin/env bash
case "$*" in
  test) cp "${counts}" "$SIGNET_TEST_COUNTS"; exit 1 ;;
  'run lint' | 'run test:more') exit 1 ;;
  'run test:node'*) echo '${passing}' >"$SIGNET_TEST_COUNTS" ;;
esac
`
  writeFileSync(join(directory, 'npm'), npm, { mode: 0o755 })
  const { status, stdout } = run('bash', ['.ci/run'], { PATH: `${directory}:${process.env['PATH'] ?? ''}` })
  expect(status).toBe(1)
  const [, end = ''] = stdout.split(/^Node .* s in all\n/m)
  expect(end.split('\n')).toEqual([
    'FAILED step npm run lint',
    'FAILED step npm test',
    'FAILED step npm run test:more',
    '1 skipped (named above)',
    'FAILED embedded test/a.unit.test.ts > a > b: expected 1 to be 2',
    'FAILED run more > all of it: ended without a count',
    '7 passed, 2 failed',
    '',
  ])
})

it('.ci/run ends with only the counts when nothing failed', () => {
  const npm = `#!/usr/bin/env bash
case "$*" in 'run test:node'*) echo '{"passed":4,"skipped":0,"failures":[]}' >"$SIGNET_TEST_COUNTS" ;; esac
`
  writeFileSync(join(directory, 'npm'), npm, { mode: 0o755 })
  const { status, stdout } = run('bash', ['.ci/run', 'static'], { PATH: `${directory}:${process.env['PATH'] ?? ''}` })
  expect(stdout).toMatch(/ s in all\n4 passed, 0 failed\n$/)
  expect(status).toBe(0)
})
