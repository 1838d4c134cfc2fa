import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { decodeQR } from 'qr/decode.js'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { drawQrCode } from '../../core/cli/qr-code.js'
import { packageRoot } from '../../core/package-root.js'
import { describeWith } from '../support/services/describe-with.js'
import { configuration, openCommandLine, type CommandLine } from '../support/server/command-line.js'

const plugins = `  - { use: plugins/attestation/totp, options: { sealing_key: { $env: SEALING_KEY } } }
  - use: plugins/attestation/bootstrap
  - { use: plugins/attestation/combination, options: { kind: both, all: [totp, bootstrap_secret] } }`
const sealingKey = 'QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWY'
const env = { SEALING_KEY: sealingKey }

let cli: CommandLine
beforeAll(async () => {
  cli = await openCommandLine()
  await cli.write('signet.yaml', configuration(plugins))
  await cli.write('plain.yaml', configuration())
  await cli.run(['migrate', '--config', 'plain.yaml'])
})
afterAll(() => cli[Symbol.asyncDispose]())

const flags = { kind: 'totp', subject: 'alice', 'principal-id': 'phone-1', type: 'device', config: 'signet.yaml' }

const toArgs = (given: Readonly<Record<string, string | undefined>>): string[] =>
  Object.entries({ ...flags, ...given }).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}`, value]))

const run = (
  command: 'issue' | 'withdraw',
  given: Readonly<Record<string, string | undefined>> = {},
  more: string[] = [],
) => cli.run(['principals', command, ...toArgs(given), ...more], { env })

describe('signet principals issue', () => {
  it('prints the URI for an authenticator app, without a QR code if there is no terminal', async () => {
    const { code, stdout, stderr } = await run('issue')
    const fields = Object.fromEntries(stdout.split('\n').map((line) => line.split(/ {2,}/)))
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(fields).toMatchObject({
      secret: expect.stringMatching(/^[A-Z2-7]{32}$/),
      algorithm: 'SHA1',
      digits: '6',
      period: '30 s',
      uri: `otpauth://totp/localhost:alice%20phone-1?secret=${fields.secret}&issuer=localhost&algorithm=SHA1&digits=6&period=30`,
    })
    expect(stdout).toContain('Shown only once.')
    expect(stdout).not.toContain('█')
  })

  it('prints JSON', async () => {
    const { code, stdout } = await run('issue', { kind: 'bootstrap_secret', type: 'service' }, ['--json'])
    const { secret, expires, ...rest } = JSON.parse(stdout)
    expect({ code, rest }).toEqual({ code: 0, rest: {} })
    expect(secret).toMatch(/^[\w-]{43}$/)
    expect(Date.parse(expires) - Date.now()).toBeGreaterThan(86_000_000)
  })

  it.each([
    [
      'a kind that there is not',
      { kind: 'sms' },
      'No plugin provides the second factor sms. There are: totp, bootstrap_secret, both\n',
    ],
    ['a combination', { kind: 'both' }, 'The second factor both cannot issue anything.\n'],
    ['no second factors', { config: 'plain.yaml' }, 'No plugin of the configuration provides second factors.\n'],
    [
      'an empty subject',
      { subject: '' },
      'An identifier must have 1 to 256 printable characters in Unicode normal form C.\n',
    ],
    [
      'a control character',
      { 'principal-id': 'a\u001bb' },
      'An identifier must have 1 to 256 printable characters in Unicode normal form C.\n',
    ],
    ['a file that is not there', { config: 'none.yaml' }, 'none.yaml'],
  ])('fails with %s', async (_what, given, message) => {
    const { code, stdout, stderr } = await run('issue', given)
    expect({ code, stdout, stderr }).toEqual({ code: 1, stdout: '', stderr: expect.stringContaining(message) })
  })

  it.each([
    ['kind', "'--kind <kind>' not specified"],
    ['subject', 'name the principal'],
    ['principal-id', 'name the principal'],
  ])('requires --%s', async (name, shown) => {
    for (const command of ['issue', 'withdraw'] as const) {
      const { code, stderr } = await run(command, { [name]: undefined })
      expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining(shown) })
    }
  })

  it('accepts subject/principal_id, with device as the default type', async () => {
    const named = (command: 'issue' | 'withdraw', principal: string, ...more: string[]) =>
      run(command, { subject: undefined, 'principal-id': undefined, type: undefined }, [principal, ...more])
    expect(await named('issue', 'erin/phone-1')).toMatchObject({ code: 0 })
    const withdrawn = await named('withdraw', 'erin/phone-1', '--json')
    expect(JSON.parse(withdrawn.stdout)).toMatchObject({
      subject: 'erin',
      principal_id: 'phone-1',
      principal_type: 'device',
    })
    for (const wrong of ['erin', 'erin/', '/phone-1', 'https://erin/phone-1'])
      expect(await named('issue', wrong)).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('subject/principal_id'),
      })
    expect(await run('issue', {}, ['erin/phone-1'])).toMatchObject({ code: 2, stdout: '' })
  })

  it('issues to every principal of a file, as JSON Lines in its order', async () => {
    const ids = Array.from({ length: 45 }, (_, index) => `till-${String(index)}`)
    await cli.write(
      'tills.csv',
      `\uFEFFsubject,principal_id\r\n${ids.map((id) => `"shop, north",${id}`).join('\r\n')}\r\n`,
    )
    const bulk = { subject: undefined, 'principal-id': undefined, kind: 'bootstrap_secret' }
    const { code, stdout, stderr } = await run('issue', bulk, ['--from', 'tills.csv'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: 'Issued to 45 principals. Shown only once.\n' })
    const rows = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, string>)
    expect(rows.map((row) => row['principal_id'])).toEqual(ids)
    for (const row of rows)
      expect(row).toMatchObject({
        subject: 'shop, north',
        principal_type: 'device',
        secret: expect.stringMatching(/^\S{43}$/),
      })
    expect(new Set(rows.map(({ secret }) => secret)).size).toBe(45)
    const audit = await readFile(join(cli.folder, 'data', 'audit.jsonl'), 'utf8')
    expect(audit.match(/"event":"administration","action":"principal.issue".*"principal_id":"till-/g)).toHaveLength(45)
  })

  it.each([
    ['id,name\na,b\n', 'must name the columns'],
    [
      'subject,principal_id\nalice,phone-1\nalice\nalice,phone-1\n',
      'record 3: has 1 columns\nrecord 4: repeats record 2',
    ],
    ['subject,principal_id,principal_type\nalice,phone-1,robot\n', 'record 2: The member principal_type must be'],
    ['subject,principal_id\nalice,"phone', 'Line 2 is not CSV'],
    ['subject,principal_id\nalice,pho"ne', 'Line 2 is not CSV'],
  ])('issues none for a file with a mistake: %j', async (text, message) => {
    await cli.write('wrong.csv', text)
    const bulk = { subject: undefined, 'principal-id': undefined, type: undefined, kind: 'bootstrap_secret' }
    const refused = await run('issue', bulk, ['--from', 'wrong.csv'])
    expect(refused).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining(message) })
  })

  it('accepts only devices and services, and no other option', async () => {
    expect(await run('issue', { type: 'robot' })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Allowed choices are device, service'),
    })
    expect(await run('issue', {}, ['--secret', 'mine'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("unknown option '--secret'"),
    })
  })

  it('reports which option of a plugin is wrong, without the key', async () => {
    const { code, stdout, stderr } = await cli.run(['principals', 'issue', ...toArgs({})], {
      env: { SEALING_KEY: 'not a key at all' },
    })
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain('plugins[6].options.sealing_key: must be 32 random bytes in base64url: 43 characters')
    expect(stderr).not.toContain('not a key')
  })

  it('reports which part of a combination does not exist', async () => {
    await cli.write('early.yaml', configuration(plugins.split('\n').toReversed().join('\n')))
    const { code, stderr } = await run('issue', { config: 'early.yaml' })
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringContaining('no plugin before it provides the second factor totp; list both after its parts'),
    })
  })
})

describe('signet principals withdraw', () => {
  it('withdraws an issued factor, once', async () => {
    await run('issue', { subject: 'bob' })
    expect(await run('withdraw', { subject: 'bob' })).toEqual({ code: 0, stdout: 'Withdrawn.\n', stderr: '' })
    expect(await run('withdraw', { subject: 'bob' })).toEqual({
      code: 1,
      stdout: '',
      stderr: 'There is nothing to withdraw.\n',
    })
    expect(await run('withdraw', { kind: 'both' })).toMatchObject({
      code: 1,
      stderr: 'The second factor both cannot withdraw anything.\n',
    })
  })

  it('prints JSON', async () => {
    await run('issue', { subject: 'dave' })
    const { code, stdout } = await run('withdraw', { subject: 'dave' }, ['--json'])
    const principal = { subject: 'dave', principal_id: 'phone-1', principal_type: 'device' }
    expect({ code, printed: JSON.parse(stdout) }).toEqual({
      code: 0,
      printed: { kind: 'totp', ...principal, state: 'withdrawn' },
    })
  })
})

it('records both in the audit log, and no secret anywhere', async () => {
  const secrets = []
  for (const kind of ['totp', 'bootstrap_secret']) {
    const { stdout } = await run('issue', { kind, subject: 'carol' }, ['--json'])
    secrets.push(String(JSON.parse(stdout).secret))
    await run('withdraw', { kind, subject: 'carol' })
  }
  const audit = await readFile(join(cli.folder, 'data', 'audit.jsonl'), 'utf8')
  const entries = audit
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter(({ sub }) => sub === 'carol')
  const common = { event: 'administration', sub: 'carol', principal_id: 'phone-1', principal_type: 'device' }
  expect(entries.filter(({ event }) => event === 'administration.begun')).toHaveLength(4)
  expect(entries.filter(({ event }) => event === 'administration')).toEqual([
    expect.objectContaining({ ...common, action: 'principal.issue', kind: 'totp' }),
    expect.objectContaining({ ...common, action: 'principal.withdraw', kind: 'totp' }),
    expect.objectContaining({ ...common, action: 'principal.issue', kind: 'bootstrap_secret' }),
    expect.objectContaining({ ...common, action: 'principal.withdraw', kind: 'bootstrap_secret' }),
  ])
  const files = await readdir(join(cli.folder, 'data'), { recursive: true, withFileTypes: true })
  for (const file of files.filter((one) => one.isFile())) {
    const content = await readFile(join(file.parentPath, file.name))
    for (const secret of [...secrets, sealingKey]) expect(content.includes(secret)).toBe(false)
  }
})

/** What a camera reads of a code on the terminal. */
const scan = (shown: string): string => {
  const [opening, closing] = ['\u001b[30;107m', '\u001b[0m']
  const lines = shown
    .split(opening)
    .slice(1)
    .map((line) => line.slice(0, line.indexOf(closing)))
  const rows = lines.flatMap((line) => [
    Array.from(line, (character) => '▀█'.includes(character)),
    Array.from(line, (character) => '▄█'.includes(character)),
  ])
  const [scale, width] = [4, rows[0]?.length ?? 0]
  const data = new Uint8Array(rows.length * scale * width * scale * 4).fill(255)
  for (let y = 0; y < rows.length * scale; y += 1)
    for (let x = 0; x < width * scale; x += 1)
      if (rows[Math.floor(y / scale)]?.[Math.floor(x / scale)])
        data.fill(0, (y * width * scale + x) * 4, (y * width * scale + x) * 4 + 3)
  return decodeQR({ width: width * scale, height: rows.length * scale, data })
}

describe('a QR code', () => {
  const colours = { isTTY: true, columns: 80, hasColors: () => true }

  it('decodes to its content', () => {
    const uri =
      'otpauth://totp/id.bank.example:alice%20phone-1?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=id.bank.example'
    expect(scan(drawQrCode(uri, colours) ?? '')).toBe(uri)
  })

  it('is not drawn where it cannot be displayed', () => {
    expect(drawQrCode('text', { ...colours, isTTY: false })).toBeUndefined()
    expect(drawQrCode('text', { ...colours, columns: 20 })).toBeUndefined()
    expect(drawQrCode('text', { ...colours, hasColors: () => false })).toBeUndefined()
  })
})

describeWith('script', 'signet principals issue on a terminal', (script) => {
  it('shows the URI and a QR code with the same content', async () => {
    const main = join(packageRoot, 'dist', 'core', 'main.js')
    const command = `stty cols 120; '${process.execPath}' '${main}' principals issue ${toArgs({}).join(' ')}`
    const terminal: NodeJS.ProcessEnv = { ...process.env, ...env, TERM: 'xterm-256color' }
    // Each of these would say that nobody sees colours, or that somebody does.
    for (const name of ['NO_COLOR', 'FORCE_COLOR', 'CI']) delete terminal[name]
    const child = spawn(script, ['-qec', command, '/dev/null'], { cwd: cli.folder, env: terminal })
    const [shown] = await Promise.all([text(child.stdout), once(child, 'close')])
    expect(child.exitCode).toBe(0)
    const [, uri] = /^uri +(otpauth:\S+)\r?$/m.exec(shown) ?? []
    expect(scan(shown)).toBe(uri)
  })
})
