import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { signAssertion } from '../support/clients/client-assertion.js'
import { es256, header, startAssertionServer, type AssertionServer } from '../support/server/assertion-server.js'

let { host, claims, send, expectGood, expectRefused } = {} as AssertionServer
beforeAll(async () => {
  ;({ host, claims, send, expectGood, expectRefused } = await startAssertionServer())
})
afterAll(() => host[Symbol.asyncDispose]())
afterEach(() => expectGood())

describe('client assertions as JWTs', () => {
  it.each<[string, (assertion: string) => string]>([
    ['two segments', (text) => text.split('.').slice(0, 2).join('.')],
    ['four segments', (text) => `${text}.AAAA`],
    ['JSON serialization', (text) => JSON.stringify({ protected: text.split('.')[0], payload: text.split('.')[1] })],
    ['padding', (text) => `${text}=`],
    ['a blank', (text) => ` ${text}`],
    ['a line break', (text) => `${text}\n`],
    ['base64', (text) => text.replaceAll('-', '+').replaceAll('_', '/').replace(/^e/, '+')],
    ['nothing but dots', () => '..'],
    ['text', () => 'assertion'],
    ['8 KiB', (text) => text.replace('.', `.${'A'.repeat(9000)}`)],
  ])('JW01 JW02 form: %s', async (_, change) => {
    await expectRefused(change(signAssertion(es256, header, claims())))
  })

  it('JW02 trailing bits of the last segment', async () => {
    const assertion = signAssertion(es256, header, claims())
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    const last = alphabet.indexOf(assertion.at(-1) ?? '')
    expect(last % 16).toBe(0)
    await expectRefused(assertion.slice(0, -1) + String(alphabet[last + 1]))
    expect((await send(assertion)).status).toBe(200)
  })

  it('JW03 repeated members', async () => {
    const text = JSON.stringify(claims())
    await expectRefused(signAssertion(es256, header, text.replace('{', `{"iss":"other-signer",`)))
    await expectRefused(signAssertion(es256, header, text.replace(/}$/, `,"\\u0073ub":"signer"}`)))
    await expectRefused(signAssertion(es256, '{"alg":"ES256","alg":"ES256","kid":"one"}', claims()))
  })

  it.each(['"99999999999"', '1e308', '-1', '1.5', 'true', '[]', '{}', 'null', '9007199254740993'])(
    'JW06 exp: %s',
    async (exp) => {
      const text = JSON.stringify(claims({ exp: 0 })).replace('"exp":0', `"exp":${exp}`)
      await expectRefused(signAssertion(es256, header, text))
    },
  )

  it('JW07 other tokens: an access token of this server, and assertions with another type', async () => {
    const issued = await send(signAssertion(es256, header, claims()))
    await expectRefused(String(issued.body['access_token']))
    await expectRefused(String(issued.body['access_token']), { client_id: 'signer' })
    for (const typ of ['at+jwt', 'dpop+jwt', 'logout+jwt', 'oauth-authz-req+jwt', '', 7, null])
      await expectRefused(signAssertion(es256, { ...header, typ }, claims()))
    for (const typ of ['JWT', 'client-authentication+jwt'])
      expect((await send(signAssertion(es256, { ...header, typ }, claims()))).status).toBe(200)
  })

  it('JW08 JW09 names of prototypes and values of other types', async () => {
    for (const name of ['iss', 'sub'])
      for (const value of [['signer'], { toString: 'signer' }, 7, null, true])
        await expectRefused(signAssertion(es256, header, claims({ [name]: value })))
    const text = JSON.stringify(claims()).replace('{', '{"__proto__":{"aud":1},"constructor":{},')
    expect((await send(signAssertion(es256, header, text))).status).toBe(200)
    const hidden = JSON.stringify(claims({ sub: undefined })).replace('{', '{"__proto__":{"sub":"signer"},')
    await expectRefused(signAssertion(es256, header, hidden))
  })
})
