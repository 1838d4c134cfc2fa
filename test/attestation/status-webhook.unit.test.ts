import { createHmac, randomBytes } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createDevice, decodeJws, doublePlugin, type Device } from '../support/clients/attestation.js'
import { startFactorServer, type FactorServer } from '../support/server/factor-server.js'
import { jsonAnswer, noAnswers, openSite, textAnswer, type Site } from '../support/server/site.js'

const key = randomBytes(32)
const secret = `whsec_${key.toString('base64')}`
const active = jsonAnswer({ active: true, attributes: { tier: 'gold' } })

let site: Site
let server: FactorServer
let device: Device
let attestation: string
beforeAll(async () => {
  site = await openSite(active)
  server = await startFactorServer([
    doublePlugin({ name: 'status-webhook' }),
    { use: 'plugins/attestation/status-webhook', options: { url: `${site.url}/status`, secret } },
  ])
  device = await createDevice(server.issuer)
  attestation = await device.attest()
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  await site[Symbol.asyncDispose]()
})
beforeEach(() => {
  site.asked.length = 0
  site.answer = active
})

describe('status by webhook', () => {
  it('is called at each step, with a signature', async () => {
    const other = await createDevice(server.issuer, {
      subject: 'bob',
      principal_id: 'batch',
      principal_type: 'service',
    })
    await other.renew(await other.attest())
    const questions = site.asked.map(({ body }) => JSON.parse(body.toString()) as Record<string, unknown>)
    expect(questions.map(({ step }) => step)).toEqual(['enrolment', 'enrolment', 'renewal', 'renewal'])
    expect(questions[0]).toEqual({
      type: 'status',
      step: 'enrolment',
      subject: 'bob',
      principal_id: 'batch',
      principal_type: 'service',
      jkt: other.jkt,
    })
    const [{ headers, body }] = site.asked as [(typeof site.asked)[0]]
    const signed = `${String(headers['webhook-id'])}.${String(headers['webhook-timestamp'])}.${body.toString()}`
    const mac = createHmac('sha256', key).update(signed).digest('base64')
    expect(headers['webhook-signature']).toBe(`v1,${mac}`)
  })

  it('gives a renewal its current attributes', async () => {
    expect(decodeJws(attestation).payload['att']).toEqual({ model: 'P1', status: 'active' })
    site.answer = jsonAnswer({ active: true, attributes: { tier: 'silver', status: 'admin' } })
    expect(decodeJws(await device.renew(attestation)).payload['att']).toEqual({ tier: 'silver', status: 'active' })
  })

  it('refuses a revoked principal at enrolment, at renewal, and between challenge and completion', async () => {
    const challenge = (await device.reissue(attestation)).body['challenge']
    site.answer = jsonAnswer({ active: false })
    const revoked = { status: 403, body: { error: 'access_denied', error_code: 'PrincipalRevoked' } }
    expect(await device.complete(challenge)).toMatchObject(revoked)
    expect(await device.reissue(attestation)).toMatchObject(revoked)
    expect(await device.enrol()).toMatchObject(revoked)
    // A caller who has not passed the second factor learns nothing.
    const stranger = await device.enrol({ second_factor: { kind: 'word', value: 'wrong' } })
    expect(stranger).toMatchObject({ status: 401, body: { error_code: 'SecondFactorFailed' } })
  })

  it.each([
    ['inactive, with attributes', { active: false, attributes: {} }],
    ['active without attributes', { active: true }],
    ['attributes that are a list', { active: true, attributes: [] }],
    ['text', { active: 'true', attributes: {} }],
    ['a number', { active: 0 }],
    ['null', { active: null }],
    ['an unknown member', { active: false, reason: 'stolen' }],
    ['nothing', {}],
    ['null as a whole', null],
    ['false as a whole', false],
  ])('is unavailable, never revoked, for an invalid answer: %s', async (_name, answer) => {
    site.answer = jsonAnswer(answer)
    expect(await device.reissue(attestation)).toMatchObject({ status: 503, body: { error_code: 'Unavailable' } })
  })

  it.each(['', 'inactive', '{"active":true,"attributes":{},"active":false}'])(
    'is unavailable for junk: %j',
    async (text) => {
      site.answer = textAnswer(text)
      expect((await device.reissue(attestation)).status).toBe(503)
    },
  )

  it.each(Object.keys(noAnswers))('F35 is unavailable, never revoked, when the service %s', async (name) => {
    const challenge = (await device.reissue(attestation)).body['challenge']
    site.answer = noAnswers[name]!
    expect((await device.complete(challenge)).status).toBe(503)
    site.answer = active
    expect((await device.complete(challenge)).status).toBe(200)
  })
})
