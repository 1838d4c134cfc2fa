import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createDevice, decodeJws, type DeviceOptions } from '../support/clients/attestation.js'
import { configuration, openCommandLine, type CommandLine, type Service } from '../support/server/command-line.js'

const attested = `  - { use: plugins/attestation/approval, options: { expires_secs: 600 } }
  - use: plugins/attestation/registry
attestation: { signing_alg: EdDSA }`

let cli: CommandLine
/** Two processes on one store. */
let service: Service
let other: Service
beforeAll(async () => {
  cli = await openCommandLine()
  await cli.write('signet.yaml', configuration(attested))
  await cli.write('other.yaml', configuration(`${attested}\naudit: { file: ./data/other.jsonl }`))
  await cli.write('plain.yaml', configuration())
  service = await cli.serve(['start', '--config', 'signet.yaml'])
  other = await cli.serve(['start', '--config', 'other.yaml'])
})
afterAll(() => cli[Symbol.asyncDispose]())

const principals = (...args: string[]) => cli.run(['principals', ...args, '--config', 'signet.yaml'])
const flagsOf = (id: string): string[] => ['--subject', 'alice', '--principal-id', id, '--type', 'device']
const newDevice = (id: string, more: DeviceOptions = {}, at = service) =>
  createDevice(at.public, { principal_id: id, second_factor: { kind: 'approval', value: '4711' }, ...more })
const waiting = async (): Promise<Record<string, unknown>[]> =>
  JSON.parse((await principals('waiting', '--json')).stdout) as Record<string, unknown>[]
const idOf = async (principalId: string): Promise<string> =>
  String((await waiting()).find((one) => one['principal_id'] === principalId)?.['id'])
const enrol = async (id: string) => {
  const device = await newDevice(id)
  await device.enrol()
  expect((await principals('approve', await idOf(id))).code).toBe(0)
  return { device, attestation: await device.attest() }
}
const rowsOf = (stdout: string): string[][] =>
  stdout
    .trimEnd()
    .split('\n')
    .map((line) => line.split(/ {2,}/))

describe('signet principals waiting, approve and deny', () => {
  it('shows waiting principals and what to compare, and decides', async () => {
    const device = await newDevice('phone-1', { attributes: { model: 'P1' } })
    expect(await device.enrol()).toMatchObject({ status: 400, body: { error_code: 'ApprovalPending' } })
    const table = rowsOf((await principals('waiting')).stdout)
    const id = await idOf('phone-1')
    expect(table).toEqual([
      ['ID', 'SUBJECT', 'PRINCIPAL_ID', 'TYPE', 'KEY', 'MESSAGE', 'ATTRIBUTES', 'ADDRESS', 'SINCE'],
      [
        id,
        'alice',
        'phone-1',
        'device',
        device.jkt.slice(0, 16),
        '4711',
        '{"model":"P1"}',
        '127.0.0.1',
        expect.any(String),
      ],
    ])
    expect(await waiting()).toEqual([
      {
        ...{ id, kind: 'approval', subject: 'alice', principal_id: 'phone-1', principal_type: 'device' },
        ...{ jkt: device.jkt, message: '4711', attributes: { model: 'P1' }, address: '127.0.0.1' },
        requested_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      },
    ])
    expect(await principals('approve', id)).toEqual({
      code: 0,
      stdout: `Approved alice/phone-1, key ${device.jkt.slice(0, 16)}\n`,
      stderr: '',
    })
    expect(rowsOf((await principals('waiting')).stdout)).toHaveLength(1)
    expect(await principals('approve', id)).toMatchObject({ code: 1, stderr: 'No pending enrolment has this id.\n' })
    expect((await device.enrol()).status).toBe(200)
    expect(await principals('deny', id)).toMatchObject({ code: 1, stderr: 'No pending enrolment has this id.\n' })

    const audit = await readFile(join(cli.folder, 'data', 'audit.jsonl'), 'utf8')
    expect(audit).toContain(
      `"event":"administration","action":"principal.approve","kind":"approval","jkt":"${device.jkt}","sub":"alice","principal_id":"phone-1","principal_type":"device"`,
    )
  })

  it('approves one enrolment, whichever process handles it', async () => {
    for (const name of ['raced-1', 'raced-2', 'raced-3']) {
      const device = await newDevice(name)
      await device.enrol()
      await principals('approve', await idOf(name))
      const body = JSON.stringify(device.enrolment())
      const headers = { 'content-type': 'application/json' }
      const answers = await Promise.all(
        Array.from({ length: 12 }, (_, index) =>
          fetch(`${(index % 2 === 0 ? service : other).public}/enrol`, { method: 'POST', headers, body }),
        ),
      )
      expect(answers.map(({ status }) => status).filter((status) => status === 200)).toHaveLength(1)
    }
  })

  it('denies, in every process', async () => {
    const device = await newDevice('phone-2')
    await device.enrol()
    expect((await principals('deny', await idOf('phone-2'))).stdout).toMatch(/^Denied alice\/phone-2, key /)
    for (const at of [service, other]) {
      const answer = await fetch(`${at.public}/enrol`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(device.enrolment()),
      })
      expect(answer.status).toBe(401)
      expect(answer.headers.get('retry-after')).toBeNull()
    }
  })

  it('withdraws an approval that was not used yet', async () => {
    const device = await newDevice('mistaken')
    await device.enrol()
    const id = await idOf('mistaken')
    await principals('approve', id)
    expect((await principals('deny', id)).stdout).toMatch(/^Denied alice\/mistaken, key /)
    expect((await device.enrol()).status).toBe(401)
  })

  it('prints the decision as JSON', async () => {
    for (const [decision, state] of [
      ['approve', 'approved'],
      ['deny', 'denied'],
    ] as const) {
      const device = await newDevice(`json-${state}`)
      await device.enrol()
      const id = await idOf(`json-${state}`)
      const { code, stdout } = await principals(decision, id, '--json')
      expect({ code, printed: JSON.parse(stdout) }).toEqual({
        code: 0,
        printed: {
          ...{ id, kind: 'approval', subject: 'alice', principal_id: `json-${state}`, principal_type: 'device' },
          ...{ jkt: device.jkt, state },
        },
      })
    }
  })

  it('reports that nothing waits for a person', async () => {
    for (const args of [['waiting'], ['approve', '0123456789abcdef']])
      expect(await cli.run(['principals', ...args, '--config', 'plain.yaml'])).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('plugins/attestation/approval'),
      })
  })
})

describe('signet principals list, show, revoke, restore and release', () => {
  it('revokes from the next request at every process, and restores', async () => {
    const { device, attestation } = await enrol('phone-3')
    const elsewhere = async () => {
      const body = JSON.stringify({ attestation, public_jwk: device.jwk })
      const headers = { 'content-type': 'application/json' }
      return (await fetch(`${other.public}/reissue`, { method: 'POST', headers, body })).status
    }
    expect([(await device.reissue(attestation)).status, await elsewhere()]).toEqual([200, 200])
    const revoked = await principals('revoke', ...flagsOf('phone-3'))
    expect(revoked).toMatchObject({ code: 0, stderr: '' })
    const [, until = ''] = /^Revoked alice\/phone-3\. .* until (\S+Z) at most\.\n$/.exec(revoked.stdout) ?? []
    // No verifier with an honest clock accepts the attestation after that.
    expect(Date.parse(until) / 1000).toBeGreaterThanOrEqual(Number(decodeJws(attestation).payload['exp']))
    expect([(await device.reissue(attestation)).status, await elsewhere()]).toEqual([403, 403])
    expect(await principals('revoke', ...flagsOf('phone-3'))).toMatchObject({
      code: 1,
      stderr: 'This principal is already revoked.\n',
    })

    const shown = JSON.parse((await principals('show', ...flagsOf('phone-3'), '--json')).stdout)
    const time = expect.stringMatching(/Z$/)
    expect(shown).toEqual({
      ...{ subject: 'alice', principal_id: 'phone-3', principal_type: 'device', state: 'revoked' },
      ...{ jkt: device.jkt, attributes: { model: 'P1' }, enrolled_at: time, revoked_at: time },
    })
    expect((await principals('show', ...flagsOf('phone-3'))).stdout).toContain('state: revoked\n')

    expect((await principals('restore', ...flagsOf('phone-3'))).stdout).toBe('Restored alice/phone-3\n')
    expect([(await device.reissue(attestation)).status, await elsewhere()]).toEqual([200, 200])
    expect(await principals('restore', ...flagsOf('phone-3'))).toMatchObject({
      code: 1,
      stderr: 'This principal is not revoked.\n',
    })
    for (const [command, state] of [
      ['revoke', 'revoked'],
      ['restore', 'active'],
    ] as const) {
      const printed = JSON.parse((await principals(command, ...flagsOf('phone-3'), '--json')).stdout)
      const { attestations_valid_until: until, ...rest } = printed as Record<string, unknown>
      expect(rest).toEqual({ subject: 'alice', principal_id: 'phone-3', principal_type: 'device', state })
      expect(until).toEqual(command === 'revoke' ? expect.stringMatching(/Z$/) : undefined)
    }
    const audit = await readFile(join(cli.folder, 'data', 'audit.jsonl'), 'utf8')
    for (const action of ['principal.revoke', 'principal.restore'])
      expect(audit).toContain(`"action":"${action}","sub":"alice","principal_id":"phone-3","principal_type":"device"`)
  })

  it('releases an id, so that another subject may enrol it', async () => {
    const { device, attestation } = await enrol('handed-on')
    const next = await newDevice('handed-on', { subject: 'bob' })
    const ofBob = ['--subject', 'bob', ...flagsOf('handed-on').slice(2)]
    await next.enrol()
    await principals('approve', await idOf('handed-on'))
    expect((await next.enrol()).status).toBe(403)
    expect(await principals('release', ...ofBob)).toMatchObject({
      code: 1,
      stderr: 'There is no such principal of the type device. For a service, add --type service.\n',
    })
    expect(await principals('release', ...flagsOf('handed-on'))).toEqual({
      code: 0,
      stdout: 'Released alice/handed-on\n',
      stderr: '',
    })
    expect((await device.reissue(attestation)).status).toBe(403)
    const asService = await newDevice('handed-on', { subject: 'bob', principal_type: 'service' })
    await asService.enrol()
    await principals('approve', await idOf('handed-on'))
    for (const one of [next, asService]) await one.attest()

    const released = async (...args: string[]) => JSON.parse((await principals('release', ...args, '--json')).stdout)
    const wire = { subject: 'bob', principal_id: 'handed-on', state: 'released' }
    expect(await released(...ofBob)).toEqual({ ...wire, principal_type: 'device', owner: 'bob' })
    expect(await released(...ofBob, '--type', 'service')).toEqual({ ...wire, principal_type: 'service' })
    const audit = await readFile(join(cli.folder, 'data', 'audit.jsonl'), 'utf8')
    expect(audit).toContain(`"action":"principal.release","sub":"bob","principal_id":"handed-on"`)
    expect(audit).toContain('"error_code":"PrincipalRevoked","reason":"the id belongs to another subject"')
  })

  it('lists all of them', async () => {
    const { device } = await enrol('phone-4')
    await principals('revoke', ...flagsOf('phone-4'))
    const table = rowsOf((await principals('list')).stdout)
    expect(table[0]).toEqual(['SUBJECT', 'PRINCIPAL_ID', 'TYPE', 'KEY', 'STATE', 'ENROLLED'])
    const key = device.jkt.slice(0, 16)
    expect(table).toContainEqual(['alice', 'phone-4', 'device', key, 'revoked', expect.stringMatching(/Z$/)])
    const list = JSON.parse((await principals('list', '--json')).stdout) as Record<string, unknown>[]
    expect(list).toContainEqual(expect.objectContaining({ principal_id: 'phone-3', state: 'active' }))
    expect(list).toHaveLength(table.length - 1)

    const lines = async (...args: string[]) => {
      const { stdout, stderr } = await principals('list', '--json-lines', ...args)
      const rows = stdout.trimEnd().split('\n').filter(Boolean)
      return { rows: rows.map((line) => JSON.parse(line) as Record<string, unknown>), stderr }
    }
    expect((await lines()).rows).toEqual(list)
    expect((await lines('--state', 'revoked')).rows).toEqual(list.filter(({ state }) => state === 'revoked'))
    expect((await cli.run(['migrate', '--config', 'signet.yaml'])).code).toBe(0)
    expect((await lines('--subject', 'alice')).rows).toEqual(list.filter(({ subject }) => subject === 'alice'))
    expect((await lines('--subject', 'nobody')).rows).toEqual([])
    expect((await lines('--type', 'service')).rows).toEqual(
      list.filter(({ principal_type }) => principal_type === 'service'),
    )
    const first = await lines('--limit', '1')
    expect(first.rows).toEqual(list.slice(0, 1))
    const [, after = ''] = /^There are more: --after (\S+)\n$/.exec(first.stderr) ?? []
    const rest = await lines(`--after=${after}`)
    expect(rest).toEqual({ rows: list.slice(1), stderr: '' })
  })

  it('reports an unknown principal', async () => {
    const device = await newDevice('phone-5')
    await device.enrol()
    for (const command of ['show', 'revoke', 'release'])
      expect(await principals(command, ...flagsOf('phone-5'))).toMatchObject({
        code: 1,
        stdout: '',
        stderr: 'There is no such principal of the type device. For a service, add --type service.\n',
      })
  })

  it('reports that the registry is not configured', async () => {
    for (const args of [
      ['list'],
      ...['show', 'revoke', 'restore', 'release'].map((command) => [command, ...flagsOf('phone-3')]),
    ])
      expect(await cli.run(['principals', ...args, '--config', 'plain.yaml'])).toEqual({
        code: 1,
        stdout: '',
        stderr: 'The configuration has no registry of principals: add plugins/attestation/registry.\n',
      })
  })

  it('requires the person to be named', async () => {
    const { code, stderr } = await principals('revoke', '--subject', 'alice')
    expect([code, stderr.includes('name the principal')]).toEqual([2, true])
  })

  it('escapes terminal control sequences', async () => {
    await (await newDevice('phone-6', { attributes: { note: '\u001b]0;owned\u0007' } })).enrol()
    const { stdout } = await principals('waiting')
    expect(stdout).toContain('owned')
    expect(stdout.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u)
  })
})
