import { createHmac, randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { testCertificate } from '../support/server/certificate.js'
import { createDevice, decodeJws } from '../support/clients/attestation.js'
import { codeBlock } from '../support/document.js'
import { startFactorServer, type FactorServer } from '../support/server/factor-server.js'
import { jsonAnswer, noAnswers, openSite, textAnswer, type Asked, type Site } from '../support/server/site.js'

const key = randomBytes(32)
const secret = `whsec_${key.toString('base64')}`
const canary = 'canary-482913'

let site: Site
let server: FactorServer
beforeAll(async () => {
  site = await openSite()
  const options = { kind: 'sms', url: `${site.url}/check?tenant=7`, secret }
  server = await startFactorServer([{ use: 'plugins/attestation/webhook', options }])
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  await site[Symbol.asyncDispose]()
})
beforeEach(() => {
  site.asked.length = 0
  site.answer = jsonAnswer({ ok: true })
})

const newDevice = () => createDevice(server.issuer, { second_factor: { kind: 'sms', value: canary } })

describe('a second factor by webhook', () => {
  it('calls once, with everything that the answer may depend on, signed as Standard Webhooks require', async () => {
    const device = await newDevice()
    expect((await device.enrol()).status).toBe(200)
    const [asked, ...more] = site.asked
    expect(more).toEqual([])
    expect(asked).toMatchObject({
      method: 'POST',
      path: '/check?tenant=7',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
    })
    const { headers, body } = asked!
    expect(JSON.parse(body.toString())).toEqual({
      type: 'second_factor',
      subject: 'alice',
      principal_id: 'phone-1',
      principal_type: 'device',
      jkt: device.jkt,
      attributes: { model: 'P1' },
      second_factor: { kind: 'sms', value: canary },
    })
    const id = String(headers['webhook-id'])
    const timestamp = String(headers['webhook-timestamp'])
    expect(Math.abs(Number(timestamp) - server.now() / 1000)).toBeLessThan(60)
    const mac = createHmac('sha256', key).update(`${id}.${timestamp}.${body.toString()}`).digest('base64')
    expect(headers['webhook-signature']).toBe(`v1,${mac}`)

    await device.enrol()
    expect(site.asked[1]?.headers['webhook-id']).not.toBe(id)
  })

  it('is signed as the documented receiver expects', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'signet-webhook-'))
    const file = join(folder, 'verify-webhook.mjs')
    await writeFile(file, codeBlock('docs/attestation-factors.md', 'verify-webhook.js'))
    const { verifyWebhook } = (await import(file)) as {
      verifyWebhook: (secret: string, headers: unknown, body: Buffer) => boolean
    }
    await rm(folder, { recursive: true })
    await (await newDevice()).enrol()
    const [{ headers, body }] = site.asked as [Asked]
    const other = `whsec_${randomBytes(32).toString('base64')}`
    const stale = { ...headers, 'webhook-timestamp': String(Number(headers['webhook-timestamp']) - 301) }
    expect(verifyWebhook(secret, headers, body)).toBe(true)
    expect(verifyWebhook(other, headers, body)).toBe(false)
    expect(verifyWebhook(secret, headers, Buffer.from(`${body.toString()} `))).toBe(false)
    expect(verifyWebhook(secret, { ...headers, 'webhook-id': 'msg_other' }, body)).toBe(false)
    expect(verifyWebhook(secret, stale, body)).toBe(false)
    expect(verifyWebhook(secret, {}, body)).toBe(false)
  })

  it('grants what the answer grants, or what was requested if it names nothing', async () => {
    const attributesOf = async () => decodeJws(await (await newDevice()).attest()).payload['att']
    expect(await attributesOf()).toEqual({ model: 'P1', status: 'active' })
    site.answer = jsonAnswer({ ok: true, attributes: { tier: 'gold' } })
    expect(await attributesOf()).toEqual({ tier: 'gold', status: 'active' })
  })

  it.each([
    ['no', { ok: false }],
    ['no, with attributes', { ok: false, attributes: {} }],
  ])('refuses: %s', async (_name, answer) => {
    site.answer = jsonAnswer(answer)
    const { status, body } = await (await newDevice()).enrol()
    expect({ status, code: body['error_code'] }).toEqual({ status: 401, code: 'SecondFactorFailed' })
  })

  it.each([
    ['yes as text', { ok: 'true' }],
    ['yes as a number', { ok: 1 }],
    ['an unknown member', { ok: true, extra: 1 }],
    ['attributes that are a list', { ok: true, attributes: [] }],
    ['attributes that are null', { ok: true, attributes: null }],
    ['nothing', {}],
    ['a list', [{ ok: true }]],
    ['true', true],
    ['null', null],
    ['text', 'ok'],
  ])('is unavailable when the answer is neither yes nor no: %s', async (_name, answer) => {
    site.answer = jsonAnswer(answer)
    const { status, body } = await (await newDevice()).enrol()
    expect({ status, code: body['error_code'] }).toEqual({ status: 503, code: 'Unavailable' })
  })

  it.each([
    ['empty', ''],
    ['HTML', '<h1>ok</h1>'],
    ['repeated members', '{"ok":false,"ok":true}'],
    ['cut', '{"ok":true'],
    ['trailing text', '{"ok":true} x'],
    ['not UTF-8', Buffer.from([0x7b, 0xff, 0x7d])],
    ['deep', `{"ok":true,"attributes":{"a":${'['.repeat(100)}${']'.repeat(100)}}}`],
  ])('is unavailable when the answer is junk: %s', async (_name, text) => {
    site.answer = textAnswer(text)
    expect((await (await newDevice()).enrol()).status).toBe(503)
  })

  it('neither refuses nor accepts when attributes cannot be attested', async () => {
    site.answer = jsonAnswer({ ok: true, attributes: { long: 'x'.repeat(5000) } })
    expect((await (await newDevice()).enrol()).status).toBe(503)
  })

  it.each(Object.keys(noAnswers))('F35 is unavailable when the service %s', async (name) => {
    site.answer = noAnswers[name]!
    const device = await newDevice()
    const { status, body } = await device.enrol()
    expect({ status, body }).toEqual({
      status: 503,
      body: { error: 'temporarily_unavailable', error_description: expect.any(String), error_code: 'Unavailable' },
    })
    expect(site.asked).toHaveLength(1)
    site.answer = jsonAnswer({ ok: true })
    expect((await device.enrol()).status).toBe(200)
  })

  it('sends nothing to a service whose certificate is not trusted', async () => {
    await using impostor = await openSite(jsonAnswer({ ok: true }), testCertificate)
    await using secure = await startFactorServer([
      { use: 'plugins/attestation/webhook', options: { url: impostor.url, secret } },
    ])
    const device = await createDevice(secure.issuer, { second_factor: { kind: 'webhook', value: canary } })
    expect((await device.enrol()).status).toBe(503)
    expect(impostor.asked).toEqual([])
  })

  it('serves other requests while a service hangs', async () => {
    site.answer = noAnswers['hangs']!
    const hanging = Promise.all(Array.from({ length: 20 }, async () => (await newDevice()).enrol()))
    expect((await fetch(`${server.issuer}/jwks.json`)).status).toBe(200)
    expect((await hanging).map(({ status }) => status)).toEqual(Array(20).fill(503))
  })

  it('leaves neither the value nor the secret in log or audit', async () => {
    site.answer = jsonAnswer({ ok: false })
    await (await newDevice()).enrol()
    const written = server.logged() + JSON.stringify(await server.audit())
    expect(written).toContain('the webhook refused')
    expect(written).not.toContain(canary)
    expect(written).not.toContain(key.toString('base64'))
  })
})

describe('options of the webhook', () => {
  const start = (options: Record<string, unknown>) =>
    startFactorServer([{ use: 'plugins/attestation/webhook', options }])
  it.each([
    ['http that is not loopback', { url: 'http://hooks.bank.example/', secret }, /url.*https/],
    ['credentials in the address', { url: 'https://a:b@hooks.bank.example/', secret }, /url.*credentials/],
    ['no address', { secret }, /url.*required/],
    ['a short secret', { url: 'https://hooks.bank.example/', secret: 'whsec_AAAA' }, /secret.*24 to 64/],
    ['a secret without its prefix', { url: 'https://hooks.bank.example/', secret: key.toString('base64') }, /secret/],
    ['a kind that is no name', { url: 'https://hooks.bank.example/', secret, kind: 'SMS!' }, /kind/],
    ['an unknown option', { url: 'https://hooks.bank.example/', secret, retries: 3 }, /retries/],
  ])('refuses %s', async (_name, options, problem) => {
    const error = (await start(options).catch((caught: unknown) => caught)) as { problems: { path: string }[] }
    const text = JSON.stringify(error.problems)
    expect(text).toMatch(problem)
    expect(text).not.toContain(key.toString('base64'))
  })
})
