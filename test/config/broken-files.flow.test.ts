import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { configuration, openCommandLine, type CommandLine } from '../support/server/command-line.js'

let cli: CommandLine
beforeAll(async () => {
  cli = await openCommandLine()
})
afterAll(() => cli[Symbol.asyncDispose]())

const notASection = /the configuration must be a section of keys and values$/m
const files: readonly (readonly [name: string, content: string | Uint8Array, problem: RegExp])[] = [
  ['a section without a value', 'issuer: http://localhost:3000\nlisten:\n', /listen: has no value \(line 2\)$/m],
  ['a text alone', 'hello', notASection],
  ['a number alone', '42', notASection],
  ['a list', '- a\n- b\n', notASection],
  ['an alias within itself', 'a: &a [*a]\n', /is nested too deeply, or has a YAML alias within itself$/m],
  ['too many aliases', `a: &a [1]\nb: [${'*a, '.repeat(60)}*a]\n`, /uses too many YAML aliases$/m],
  [
    'a merge key',
    'a: &a { port: 1 }\nlisten: { <<: *a }\n',
    /listen\["<<"\]: is an ordinary key: YAML 1\.2 has no merge/m,
  ],
  ['a key that is a list', '? [a, b]\n: 1\n', /\["\[ a, b \]"\]: unknown key/m],
  ['Latin-1', Buffer.from('issuer: "é"', 'latin1'), /is not proper UTF-8: save it in UTF-8$/m],
  [
    'half of a UTF-16 character',
    Buffer.from('\ufeffa: 1', 'utf16le').subarray(0, -1),
    /is not proper UTF-16: save it/m,
  ],
  ['UTF-32', Buffer.from([0xff, 0xfe, 0, 0, 0x61, 0, 0, 0]), /is in UTF-32: save it in UTF-8$/m],
  ['two documents', 'a: 1\n---\nb: 1\n', /is not proper YAML: multiple docs \(line 2\)$/m],
]

describe.each(['check', 'start', 'doctor'])('signet %s', (command) => {
  it.each(files)('reports what is wrong with %s', async (_name, content, problem) => {
    await writeFile(join(cli.folder, 'broken.yaml'), content)
    const { code, stdout, stderr } = await cli.run([command, '--config', 'broken.yaml'])
    expect({ code, printed: stdout + stderr }).toEqual({ code: 1, printed: expect.stringMatching(problem) })
    expect(stdout + stderr).not.toMatch(/^\s+at |Error:|Warning:/m)
  })
})

it.each(['utf16le', 'utf16be', 'utf-8 with a mark'])('reads a file in %s', async (encoding) => {
  const text = configuration()
  const utf16 = Buffer.from(`\ufeff${text}`, 'utf16le')
  const bytes = { utf16le: utf16, utf16be: Buffer.from(utf16).swap16() }[encoding] ?? Buffer.from(`\ufeff${text}`)
  await writeFile(join(cli.folder, 'encoded.yaml'), bytes)
  expect(await cli.run(['check', '--config', 'encoded.yaml'])).toMatchObject({ code: 0 })
})

it('a reload of a broken file is refused with its problems, and the service keeps its configuration', async () => {
  await cli.write('served.yaml', configuration())
  const service = await cli.serve(['start', '--config', 'served.yaml'])
  for (const [, content, problem] of files) {
    await writeFile(join(cli.folder, 'served.yaml'), content)
    const response = await fetch(`${service.admin}/reload`, { method: 'POST' })
    const body = (await response.json()) as { problems: readonly { path: string; message: string; line?: number }[] }
    const lines = body.problems.map(({ path, message, line }) => {
      const place = line === undefined ? '' : ` (line ${String(line)})`
      return `${path === '' ? '' : `${path}: `}${message}${place}`
    })
    expect({ status: response.status, lines: lines.join('\n') }).toEqual({
      status: 400,
      lines: expect.stringMatching(problem),
    })
  }
  expect((await fetch(`${service.public}/jwks.json`)).status).toBe(200)
})

describe('a secret from elsewhere', () => {
  const check = async (source: string, env: Readonly<Record<string, string>> = {}) => {
    const client = `clients: [{ client_id: a, client_secret: ${source}, grant_types: [client_credentials], scope: api }]\n`
    await cli.write('secret.yaml', configuration(client))
    const { code, stderr } = await cli.run(['check', '--config', 'secret.yaml'], { env })
    return { code, warned: /clients\[0\]\.client_secret: (.*part of the value)/.exec(stderr)?.[1] }
  }
  const secret = 'a-secret-of-more-than-32-characters-for-tests'

  it.each([
    ['$env', 'as it is', secret, undefined],
    ['$env', 'with a line end', `${secret}\n`, undefined],
    [
      '$env',
      'with a blank',
      `${secret} `,
      'the environment variable SECRET begins or ends with a blank, which is part of the value',
    ],
    ['$file', 'with CRLF', `${secret}\r\n`, undefined],
    ['$file', 'with a byte order mark', `\ufeff${secret}`, undefined],
    [
      '$file',
      'with a blank in front',
      ` ${secret}`,
      'the file secret.txt begins or ends with a blank, which is part of the value',
    ],
  ])('%s %s', async (kind, _name, value, warned) => {
    await cli.write('secret.txt', value)
    const source = kind === '$env' ? '{ $env: SECRET }' : '{ $file: secret.txt }'
    expect(await check(source, kind === '$env' ? { SECRET: value } : {})).toEqual({ code: 0, warned })
  })

  it('that is not text is refused', async () => {
    await writeFile(join(cli.folder, 'secret.txt'), Buffer.from([0x61, 0xe9, 0x62]))
    const { code } = await check('{ $file: secret.txt }')
    expect(code).toBe(1)
  })
})

it('a slip in a grant is reported together with a plugin that cannot be loaded', async () => {
  const client =
    '{ client_id: a, client_secret: a-secret-of-more-than-32-characters-for-tests, grant_types: [client_credential], scope: api }'
  await cli.write(
    'slips.yaml',
    configuration(`clients: [${client}]\n`).replace('client-credentials', 'client-credential'),
  )
  const { code, stdout } = await cli.run(['check', '--config', 'slips.yaml'])
  expect(code).toBe(1)
  expect(stdout).toMatch(/^plugins\[\d\]\.use: .*did you mean/m)
  expect(stdout).toContain('clients[0].grant_types[0]: is not known; did you mean `client_credentials`? (line')
})
