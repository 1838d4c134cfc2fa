import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { packageRoot } from '../../core/package-root.js'
import { describeWith } from '../support/services/describe-with.js'
import { configuration, openCommandLine, type CommandLine } from '../support/server/command-line.js'

/** `script` gives the program a terminal of its own. */
describeWith('script', 'results on a terminal', (script) => {
  const config = ['--config', 'signet.yaml']
  const id = `client-${'x'.repeat(90)}`
  let cli: CommandLine
  beforeAll(async () => {
    cli = await openCommandLine()
    await cli.write('signet.yaml', configuration())
    await cli.run(['migrate', ...config])
    await cli.run(['clients', 'add', '--client-id', id, '--grant-type', 'client_credentials', ...config])
    await cli.run(['clients', 'disable', id, ...config])
  })
  afterAll(() => cli[Symbol.asyncDispose]())

  const show = (variables: string, ...more: readonly string[]): string => {
    const main = join(packageRoot, 'dist', 'core', 'main.js')
    const command = `stty cols 80; ${variables} TERM=xterm '${process.execPath}' '${main}' clients list ${[...config, ...more].join(' ')}`
    // Node takes the terminal of a CI job for one without colours.
    const env = { ...process.env, CI: undefined }
    return spawnSync(script, ['-qec', command, '/dev/null'], { cwd: cli.folder, encoding: 'utf8', env }).stdout
  }
  const lines = (text: string): readonly string[] => stripVTControlCharacters(text).trimEnd().split(/\r?\n/)

  it('fit its width, and are untruncated with --wide and in a pipe', async () => {
    const shown = lines(show(''))
    expect(Math.max(...shown.map((line) => line.length))).toBeLessThanOrEqual(80)
    expect(shown[1]).toMatch(/^client-x*…x+ /)
    expect(lines(show('', '--wide'))[1]).toContain(id)
    expect((await cli.run(['clients', 'list', ...config])).stdout).toContain(id)
  })

  it('have colours unless NO_COLOR is set', async () => {
    expect(show('')).toContain('\u001b[31mdisabled')
    expect(show('NO_COLOR=1')).not.toContain('\u001b[')
    expect((await cli.run(['clients', 'list', ...config])).stdout).not.toContain('\u001b[')
  })
})

describeWith('script', 'a service on a terminal', (script) => {
  it('prints a line for each request, and what a stop waits for', async () => {
    await using cli = await openCommandLine()
    await cli.write('signet.yaml', configuration('shutdown: { delay_secs: 1 }'))
    const main = join(packageRoot, 'dist', 'core', 'main.js')
    // Without `exec` a shell may stay between, and Ctrl+C ends the shell with 130.
    const command = `export TERM=xterm; exec '${process.execPath}' '${main}' start --config signet.yaml`
    const child = spawn(script, ['-qec', command, '/dev/null'], { cwd: cli.folder })
    const closed = once(child, 'close')
    let shown = ''
    child.stdout.on('data', (chunk: Buffer) => (shown += stripVTControlCharacters(chunk.toString())))
    const printed = async (pattern: RegExp): Promise<string> => {
      await expect.poll(() => shown, { timeout: 30_000 }).toMatch(pattern)
      return pattern.exec(shown)?.[1] ?? ''
    }
    const address = await printed(/public: "(http:[^"]+)"/)
    await fetch(new URL('/jwks.json', address))
    await fetch(new URL('/assets/none.css', address))
    await fetch(new URL('/token', address), { method: 'POST', body: new URLSearchParams({ grant_type: 'x' }) })
    await printed(/^\d\d:\d\d:\d\d GET \/jwks\.json 200 \d+ ms [0-9a-f]{8}\r?$/m)
    await printed(/^\d\d:\d\d:\d\d POST \/token 401 \d+ ms [0-9a-f]{8} invalid_client: .+\r?$/m)
    expect(shown).not.toContain('assets')
    child.stdin.write('\u0003')
    await printed(/^Waiting 1 s for load balancers .* Press Ctrl\+C again to stop now\.\r?$/m)
    await closed
    expect(child.exitCode).toBe(0)
  })
})
