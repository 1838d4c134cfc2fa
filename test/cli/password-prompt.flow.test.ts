import { afterAll, beforeAll, expect, it } from 'vitest'
import { describeWith } from '../support/services/describe-with.js'
import { typeAtTerminal } from '../support/terminal.js'
import { configuration, openCommandLine, type CommandLine } from '../support/server/command-line.js'

/** `script` gives the program a terminal of its own. */
describeWith('script', 'signet accounts add on a terminal', (script) => {
  let cli: CommandLine
  beforeAll(async () => {
    cli = await openCommandLine()
    await cli.write('signet.yaml', configuration())
    await cli.run(['migrate', '--config', 'signet.yaml'])
  })
  afterAll(() => cli[Symbol.asyncDispose]())

  const type = (username: string, answers: readonly (readonly [question: string, typed: string])[]) =>
    typeAtTerminal(script, cli.folder, `accounts add ${username} --config signet.yaml`, answers)

  it('prompts twice without echo', async () => {
    const { code, shown } = await type('bob', [
      ['Password: ', 'corr\u007frect horse\r'],
      ['Once more: ', 'correct horse\r'],
    ])
    expect(code).toBe(0)
    expect(shown).toContain('Added bob')
    expect(shown).not.toMatch(/corr|horse|\*/)
  })

  it('adds no account when the two differ, or on Ctrl-C', async () => {
    const different = await type('carol', [
      ['Password: ', 'one\r'],
      ['Once more: ', 'two\r'],
    ])
    expect(different).toEqual({ code: 1, shown: expect.stringContaining('The two passwords differ.') })
    const abandoned = await type('carol', [['Password: ', 'one\u0003']])
    expect(abandoned).toEqual({ code: 1, shown: expect.stringContaining('Cancelled.') })
    const { stdout } = await cli.run(['accounts', 'list', '--json', '--config', 'signet.yaml'])
    expect((JSON.parse(stdout) as { username: string }[]).map((row) => row.username)).toEqual(['bob'])
  })
})
