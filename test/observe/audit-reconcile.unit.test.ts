import { randomUUID } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readJsonRecords } from '../../core/operate/json-records.js'
import { reconcile } from '../../core/operate/reconcile.js'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'signet-reconcile-'))
})
afterAll(() => rm(folder, { recursive: true }))

const write = async (name: string, content: string | Buffer): Promise<string> => {
  const file = join(folder, name)
  await writeFile(file, content)
  return file
}

const arn = 'arn:aws:kms:eu-central-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab'
const ids = Array.from({ length: 6 }, () => randomUUID())
const time = '2026-11-20T10:00:00Z'

const sign = (requestID: string, more: object = {}) => ({
  eventTime: time,
  eventSource: 'kms.amazonaws.com',
  eventName: 'Sign',
  requestID,
  userIdentity: { arn: 'arn:aws:sts::111122223333:assumed-role/signet/i-1' },
  requestParameters: { keyId: arn, signingAlgorithm: 'ECDSA_SHA_256', note: 'brackets ] } " \\ in text' },
  resources: [{ ARN: arn }],
  ...more,
})

const line = (event: string, more: object) => `${JSON.stringify({ v: 1, time, event, client_id: 'c', ...more })}\n`
const signature = (reference: string) => ({ kid: 'k', signer: 'kms', reference })

const auditText = [
  line('token.signed', { jti: 'j1', signatures: [signature(ids[0]!), signature(ids[1]!)] }),
  line('userinfo.released', { jti: 'j1', signatures: [signature(ids[2]!)] }),
  line('key.proved', { signer: 'kms', reference: ids[3] }),
  // Signatures of another backend, and half a line of a process that was killed.
  line('token.signed', { jti: 'j2', signatures: [signature('7:12'), { kid: 'local' }] }),
  '{"v":1,"time":"2026-11-20T10:00:00Z","event":"token.si\n',
  line('configuration.loaded', { issuer: 'https://id.example' }),
].join('')

const sound = ids.slice(0, 4).map((id) => sign(id))

describe('reconciling CloudTrail with the audit log', () => {
  it.each<[string, (records: readonly object[]) => string | Buffer]>([
    ['Records', (records) => JSON.stringify({ Records: records })],
    ['Records, indented', (records) => JSON.stringify({ Version: 1, Records: records, Count: [{}] }, null, 2)],
    ['a list', (records) => JSON.stringify(records)],
    ['JSON lines', (records) => records.map((record) => JSON.stringify(record)).join('\n')],
    ['gzip', (records) => gzipSync(JSON.stringify({ Records: records }))],
    [
      'lookup-events',
      (records) => JSON.stringify({ Events: records.map((one) => ({ CloudTrailEvent: JSON.stringify(one) })) }),
    ],
  ])('finds every signature in %s', async (name, form) => {
    const audit = await write('audit.jsonl', auditText)
    const found = await reconcile({ cloudtrail: [await write(`trail-${name}`, form(sound))], audit: [audit] })
    expect(found).toMatchObject({ signatures: 4, recorded: 4, matched: 4, unissued: [], unsigned: [] })
  })

  it('names signatures without a token and tokens without a signature', async () => {
    const audit = await write('audit.jsonl', auditText)
    const records = [
      ...sound.slice(1),
      sign(ids[4]!),
      sign(ids[5]!, { errorCode: 'ThrottlingException' }),
      sign(randomUUID(), { eventName: 'GetPublicKey' }),
      sound[1]!,
    ]
    const trail = await write('trail.json', JSON.stringify({ Records: records }))
    expect(await reconcile({ cloudtrail: [trail], audit: [audit] })).toEqual({
      signatures: 4,
      recorded: 4,
      matched: 3,
      failed: 1,
      others: 1,
      unnamed: [],
      unissued: [{ time, request_id: ids[4], key: arn, caller: expect.stringContaining('signet/i-1') }],
      unsigned: [
        { time, event: 'token.signed', reference: ids[0], signer: 'kms', kid: 'k', jti: 'j1', client_id: 'c' },
      ],
    })
  })

  it('takes several files, and their order means nothing', async () => {
    const [first = '', second = '', ...rest] = auditText.split(/(?<=\n)/)
    const audit = [await write('a1.jsonl', second), await write('a2.jsonl', first + rest.join(''))]
    const cloudtrail = [
      await write('t1.json', JSON.stringify({ Records: sound.slice(2) })),
      await write('t2.json', JSON.stringify({ Records: sound.slice(0, 2) })),
    ]
    expect(await reconcile({ cloudtrail, audit })).toMatchObject({ matched: 4, unissued: [], unsigned: [] })
  })

  it('ignores the keys of others, and recognises replicas by their id', async () => {
    const audit = await write('audit.jsonl', auditText)
    const replica = arn.replace('eu-central-1', 'eu-west-1')
    const foreign = sign(randomUUID(), {
      resources: [{ ARN: 'arn:aws:kms:eu-central-1:1:key/other' }],
      requestParameters: {},
    })
    const stranger = sign(randomUUID(), { resources: [{ ARN: replica }], requestParameters: { keyId: replica } })
    const trail = await write('trail.json', JSON.stringify([...sound, foreign, stranger]))
    const found = await reconcile({ cloudtrail: [trail], audit: [audit], keys: [{ signer: 'kms', ref: arn }] })
    expect(found).toMatchObject({ signatures: 5, unnamed: [], others: 1, unissued: [{ key: replica }], unsigned: [] })
  })

  describe('with an alias in the configuration', () => {
    const foreignArn = 'arn:aws:kms:eu-central-1:1:key/other'
    const [forged, foreign] = [sign(randomUUID()), sign(randomUUID(), { resources: [{ ARN: foreignArn }] })]
    const keys = [{ signer: 'kms', ref: 'alias/tokens' }]
    const proof = (more: object = {}) =>
      line('key.proved', { signer: 'kms', ref: 'alias/tokens', key: arn, reference: ids[3], ...more })
    const run = async (audit: string, of: object[] = [...sound, forged, foreign]) =>
      reconcile({
        cloudtrail: [await write('trail.json', JSON.stringify(of))],
        audit: [await write('audit.jsonl', auditText), await write('proofs.jsonl', audit)],
        keys,
      })

    it('identifies its key from the probes, and names signatures without a token', async () => {
      expect(await run(proof())).toMatchObject({
        others: 1,
        unnamed: [],
        unissued: [{ request_id: forged.requestID, key: arn }],
      })
    })

    it('identifies each key that it ever pointed to', async () => {
      const later = sign(randomUUID(), { resources: [{ ARN: foreignArn }] })
      const found = await run(proof() + proof({ key: foreignArn }), [...sound, forged, later])
      expect(found).toMatchObject({ others: 0, unissued: [{ key: arn }, { key: foreignArn }] })
    })

    it.each([
      ['says nothing of its key', ''],
      ['is of an earlier version', proof({ key: undefined })],
      ['names another key', proof({ ref: 'alias/others' })],
      ['names another signer', proof({ signer: 'kms-eu' })],
    ])('leaves no key out where the audit log %s', async (_, audit) => {
      expect(await run(audit)).toMatchObject({
        others: 0,
        unnamed: ['alias/tokens'],
        unissued: [{ key: arn }, { key: foreignArn }],
      })
    })
  })

  it('ignores the alias of another account', async () => {
    const audit = await write('audit.jsonl', line('key.proved', { signer: 'kms', ref: 'alias/tokens', key: arn }))
    const [resources, requestParameters] = [
      [{ ARN: 'arn:aws:kms:eu-central-1:1:key/other' }],
      { keyId: 'alias/tokens' },
    ]
    const trail = await write('trail.json', JSON.stringify([sign(randomUUID(), { resources, requestParameters })]))
    const keys = [{ signer: 'kms', ref: 'alias/tokens' }]
    expect(await reconcile({ cloudtrail: [trail], audit: [audit], keys })).toMatchObject({ others: 1, unissued: [] })
  })

  it('ignores missing entries outside the requested period', async () => {
    const audit = await write('audit.jsonl', auditText)
    const trail = await write('trail.json', JSON.stringify({ Records: [sign(ids[4]!)] }))
    const from = Date.parse(time) + 1
    expect(await reconcile({ cloudtrail: [trail], audit: [audit], from })).toMatchObject({
      recorded: 0,
      unissued: [],
      unsigned: [],
    })
  })

  it('reads a file that is larger than a chunk, one record at a time', async () => {
    const records = Array.from({ length: 3000 }, (_, index) => sign(randomUUID(), { index, text: 'x"\\]}'.repeat(50) }))
    const file = await write('large.json', JSON.stringify({ Records: records }))
    let count = 0
    for await (const record of readJsonRecords(file)) expect(record['index']).toBe(count++)
    expect(count).toBe(3000)
  })

  it.each([
    ['cut off', JSON.stringify({ Records: sound }).slice(0, -40)],
    ['cut off in a string', '{"Records":[{"a":"b'],
    ['not JSON', '{"Records":[{a}]}'],
    ['too many brackets', '[{}]]'],
  ])('names a file that is %s', async (name, content) => {
    const file = await write(`bad-${name}`, content)
    const read = async () => {
      for await (const record of readJsonRecords(file)) void record
    }
    await expect(read()).rejects.toThrow(file)
  })

  it('names a damaged gzip file', async () => {
    const file = await write('bad.gz', gzipSync(JSON.stringify({ Records: sound })).subarray(0, -20))
    await expect(reconcile({ cloudtrail: [file], audit: [] })).rejects.toThrow(`${file}: is damaged`)
  })
})
