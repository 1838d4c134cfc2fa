import { gzipSync } from 'node:zlib'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { compareHsmLogs } from '../../core/operate/hsm-logs/compare-counts.js'
import { readHsmLogs, type HsmLogFormatName } from '../../core/operate/hsm-logs/read-hsm-logs.js'
import { RecordsUnreadable } from '../../core/operate/json-records.js'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'signet-hsm-logs-'))
})
afterAll(() => rm(folder, { recursive: true }))

const always = { from: -Infinity, until: Infinity }
let files = 0
const write = async (content: string | Uint8Array): Promise<string> => {
  const file = join(folder, `log-${String(files++)}`)
  await writeFile(file, content)
  return file
}
const read = async (format: HsmLogFormatName, content: string | Uint8Array, range = always) =>
  (await readHsmLogs([{ format, file: await write(content) }], range))[0]!

const luna = (time: string, operation: string, result = 'LUNA_RET_SUCCESS') =>
  `23        ,${time},session 12 Access 234:456 operation ${operation} returned ${result}          ,89487E5EFAD41215E411\n`

describe('logs of HSMs', () => {
  it('Luna: counts signatures that succeeded, and ends of those in parts', async () => {
    const found = await read(
      'luna',
      luna('11/20/26 10:00:00', 'LUNA_LOGIN') +
        luna('11/20/26 10:00:01', 'LUNA_SIGN_SINGLEPART') +
        luna('11/20/26 10:00:02', 'LUNA_SIGN_SINGLEPART', 'LUNA_RET_KEY_TYPE') +
        luna('11/20/26 10:00:03', 'LUNA_SIGN_INIT') +
        luna('11/20/26 10:00:03', 'LUNA_SIGN') +
        luna('11/20/26 10:00:04', 'LUNA_SIGN_END'),
    )
    expect(found).toMatchObject({ events: 6, unread: 0, signatures: 2 })
    expect(found.operations).toContainEqual({
      operation: 'LUNA_SIGN_SINGLEPART',
      result: 'LUNA_RET_KEY_TYPE',
      count: 1,
      first: '2026-11-20T10:00:02Z',
      last: '2026-11-20T10:00:02Z',
    })
  })

  it('Luna Cloud: reads JSON lines, packed or not', async () => {
    const line = (time: string, action: string) =>
      JSON.stringify({ time, source: 'thales/cloudhsm/1334', action, status: 'LUNA_RET_OK', meta: { role: 'CO' } })
    const text = `${line('2026-11-20 10:00:00.046662 UTC', 'LUNA_SIGN_SINGLEPART')}\r\n${line('2026-11-20 11:00:00 UTC', 'LUNA_SIGN_SINGLEPART')}\r\n`
    const until = Date.parse('2026-11-20T11:00:00Z')
    for (const content of [text, gzipSync(text)])
      expect(await read('luna-cloud', content, { from: 0, until })).toMatchObject({
        events: 1,
        outside: 1,
        signatures: 1,
        operations: [{ first: '2026-11-20T10:00:00.046Z' }],
      })
  })

  const event = (number: number, opcode: string, more = '') =>
    `Time: 12/19/17 21:01:17.140812, usecs:151371727714081${String(number)}\r\nSequence No : 0x${number.toString(16)}\r\n` +
    `Reboot counter : 0xe8\r\nCommand Type(hex) : CN_MGMT_CMD (0x0)\r\nOpcode : ${opcode}\r\nSession Handle : 0x1004001\r\n` +
    `Response : 0:HSM Return: SUCCESS\r\nLog type : MINIMAL_LOG_ENTRY (0)\r\n${more}`

  it('CloudHSM: says what was managed, that signatures are not recorded, and which events are missing', async () => {
    const found = await read(
      'cloudhsm',
      `${event(0, 'CN_INIT_TOKEN (0x1)')}\r\n${event(1, 'CN_LOGIN (0xd)')}${event(4, 'CN_GENERATE_KEY_PAIR (0x19)', 'Priv/Secret Key Handle : 131079\r\n')}`,
    )
    expect(found).toMatchObject({
      events: 3,
      uncounted: expect.stringContaining('management commands only'),
      gaps: [{ after: 1, before: 4 }],
    })
    expect(found.signatures).toBeUndefined()
    expect(found.operations.map(({ operation, result }) => [operation, result])).toEqual([
      ['CN_INIT_TOKEN', 'SUCCESS'],
      ['CN_LOGIN', 'SUCCESS'],
      ['CN_GENERATE_KEY_PAIR', 'SUCCESS'],
    ])
  })

  it('CloudHSM: reads the JSON of get-log-events and filter-log-events, and the text that CloudWatch exports', async () => {
    const events = [0, 1].map((number) => ({
      timestamp: 1,
      logStreamName: 'hsm-a',
      message: event(number, 'CN_LOGIN (0xd)'),
    }))
    expect(await read('cloudhsm', JSON.stringify({ events, nextToken: 'x' }, null, 4))).toMatchObject({
      events: 2,
      gaps: [],
    })
    const exported = events.map(({ message }) => `2017-12-19T21:01:17.140Z ${message}`).join('\n')
    expect(await read('cloudhsm', gzipSync(exported))).toMatchObject({ events: 2, gaps: [] })
  })

  it('SoftHSM: has errors and no signatures', async () => {
    const found = await read(
      'softhsm',
      '2026-11-20T10:00:00+0100 vm signet[12]: SoftHSM.cpp(512): Could not load the token\n2026-11-20T10:00:01+01:00 vm sshd[9]: hello\n',
    )
    expect(found).toMatchObject({
      events: 1,
      unread: 1,
      uncounted: expect.stringContaining('no signatures'),
      operations: [{ operation: 'SoftHSM.cpp', result: 'Could not load the token', first: '2026-11-20T09:00:00Z' }],
    })
  })

  it.each(['luna', 'luna-cloud', 'cloudhsm', 'softhsm'] as const)(
    '%s: refuses a file of another format, and reads one whose last line is cut off',
    async (format) => {
      const samples = {
        luna: luna('11/20/26 10:00:00', 'LUNA_LOGIN'),
        'luna-cloud': '{"time":"2026-11-20 10:00:00 UTC","action":"LUNA_LOGIN","status":"LUNA_RET_OK"}\n',
        cloudhsm: event(0, 'CN_LOGIN (0xd)'),
        softhsm: '2026-11-20T10:00:00Z vm x: SoftHSM.cpp(1): a\n',
      }
      for (const [other, content] of Object.entries(samples))
        if (other === format) {
          expect(await read(format, content + content.slice(0, 9))).toMatchObject({ events: 1 })
        } else await expect(read(format, content)).rejects.toThrow(`has no event of the format ${format}`)
      await expect(read(format, '')).rejects.toThrow(RecordsUnreadable)
      await expect(read(format, 'x'.repeat(5 * 1024 * 1024))).rejects.toThrow(RecordsUnreadable)
      await expect(read(format, Buffer.from([0x1f, 0x8b, 8, 0, 1, 2, 3]))).rejects.toThrow(RecordsUnreadable)
    },
  )

  it('compares how many signatures both logs have, hour by hour, of the signers in HSMs alone', async () => {
    const log = await write(
      luna('11/20/26 10:00:01', 'LUNA_SIGN_SINGLEPART') +
        luna('11/20/26 10:59:59', 'LUNA_SIGN_SINGLEPART') +
        luna('11/20/26 11:00:00', 'LUNA_SIGN_SINGLEPART'),
    )
    const line = (time: string, signer: string, more: object) => JSON.stringify({ time, signer, digest: 'x', ...more })
    const audit = await write(
      [
        line('2026-11-20T10:00:01Z', 'hsm', { event: 'key.proved', ref: 'pkcs11:object=a' }),
        line('2026-11-20T10:59:59Z', 'hsm', { event: 'audit.signed', kid: 'a' }),
        line('2026-11-20T11:30:00Z', 'local', { event: 'audit.signed', kid: 'b' }),
      ].join('\n'),
    )
    const hsmLog = [{ format: 'luna' as const, file: log }]
    expect((await compareHsmLogs(hsmLog, [audit], ['hsm'], always)).counts).toEqual({
      logged: 3,
      recorded: 2,
      signers: ['hsm'],
      hours: [{ hour: '2026-11-20T11:00:00Z', logged: 1, recorded: 0 }],
    })
    expect((await compareHsmLogs(hsmLog, [audit], undefined, always)).counts).toMatchObject({
      logged: 3,
      recorded: 3,
      hours: [],
    })
    const other = [{ format: 'cloudhsm' as const, file: await write(event(0, 'CN_LOGIN (0xd)')) }]
    expect((await compareHsmLogs(other, [audit], ['hsm'], always)).counts).toBeUndefined()
  })
})
