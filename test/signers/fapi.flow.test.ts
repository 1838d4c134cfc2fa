import { chromium } from 'playwright-core'
import { expect, it } from 'vitest'
import { createFapiClient, fapiMetadata, redirectUri } from '../support/clients/fapi-client.js'
import { describeWith } from '../support/services/describe-with.js'
import { person, startServer } from '../support/server/server.js'
import { makeToken, openProvider } from '../support/signers/softhsm/token.js'

describeWith('softhsm2', 'FAPI 2.0 with keys in an HSM', () => {
  it.each(['ES256', 'PS256'] as const)('gives bound tokens under %s, to a client of the profile', async (alg) => {
    await using token = await makeToken()
    await using provider = await openProvider(token)
    await provider.create?.('the-key', alg, AbortSignal.timeout(30_000))
    const options = { module: token.module, token: token.label, pin: token.pin, environment: token.environment }
    await using server = await startServer({
      configure: (written) => ({
        ...written,
        security_profile: 'fapi2',
        id_token_signing_alg: alg,
        signers: { hsm: { use: 'signers/pkcs11', options } },
        keys: [{ kid: 'the-key', alg, signer: 'hsm', ref: 'pkcs11:object=the-key' }],
        clients: [fapiMetadata],
      }),
    })
    const client = createFapiClient(server.issuer)
    const left = await client.authorize(person)
    const { status, body } = await client.redeem(left.searchParams.get('code'))
    expect(status).toBe(200)
    const header: unknown = JSON.parse(
      Buffer.from(String(body['access_token']).split('.')[0] ?? '', 'base64url').toString(),
    )
    expect(header).toMatchObject({ alg, kid: 'the-key', typ: 'at+jwt' })
    expect((await client.userinfo(body['access_token'])).status).toBe(200)
    expect((await client.refresh(body['refresh_token'])).status).toBe(200)
  })
})

const payment = (amount = '12.34') => ({ type: 'payment', instructedAmount: { currency: 'EUR', amount } })
const amount = {
  ...{ type: 'object', additionalProperties: false, required: ['currency', 'amount'] },
  properties: { currency: { type: 'string' }, amount: { type: 'string' } },
}

describeWith(['chromium', 'softhsm2'], 'a payment, in a browser on a telephone', (executablePath) => {
  it('is read, approved, signed by the HSM, and given unchanged or not at all', { timeout: 60_000 }, async () => {
    await using token = await makeToken()
    await using provider = await openProvider(token)
    await provider.create?.('the-key', 'PS256', AbortSignal.timeout(30_000))
    const options = { module: token.module, token: token.label, pin: token.pin, environment: token.environment }
    const schema = { type: 'object', additionalProperties: false, properties: { instructedAmount: amount } }
    const show = [{ label: 'Amount', path: '/instructedAmount', format: 'amount' }]
    await using server = await startServer({
      configure: (written) => ({
        ...written,
        security_profile: 'fapi2',
        id_token_signing_alg: 'PS256',
        signers: { hsm: { use: 'signers/pkcs11', options } },
        keys: [{ kid: 'the-key', alg: 'PS256', signer: 'hsm', ref: 'pkcs11:object=the-key' }],
        authorization_details_types: [{ type: 'payment', title: 'Make a payment', schema, show }],
        clients: [{ ...fapiMetadata, authorization_details_types: ['payment'] }],
      }),
    })
    const client = createFapiClient(server.issuer)
    const pushed = await client.push({ form: { authorization_details: JSON.stringify([payment()]) } })
    const browser = await chromium.launch({ executablePath })
    try {
      const page = await browser.newPage({ viewport: { width: 375, height: 700 } })
      await page.route(`${redirectUri}**`, (route) => route.fulfill({ body: 'Thank you' }))
      await page.goto(client.urlOf(pushed.body['request_uri']))
      await page.fill('#username', person.username)
      await page.fill('#password', person.password)
      await page.click('#login-submit')
      await page.waitForSelector('#consent-allow')
      const text = page.getByText('12.34 EUR', { exact: true })
      expect(await text.isVisible()).toBe(true)
      expect((await text.boundingBox())?.y).toBeLessThan(700)
      await page.click('#consent-allow')
      await page.waitForURL(`${redirectUri}?**`)
      const code = new URL(page.url()).searchParams.get('code')
      const higher = { form: { authorization_details: JSON.stringify([payment('12340')]) } }
      const refused = await client.redeem(code, higher)
      expect([refused.status, refused.body['error']]).toEqual([400, 'invalid_authorization_details'])
      const { body } = await client.redeem(code)
      const [header, claims] = String(body['access_token'])
        .split('.')
        .slice(0, 2)
        .map((part): unknown => JSON.parse(Buffer.from(part, 'base64url').toString()))
      expect(header).toMatchObject({ alg: 'PS256', kid: 'the-key' })
      expect(claims).toMatchObject({ authorization_details: [payment()], cnf: { jkt: client.own.jkt } })
      expect((await client.userinfo(body['access_token'])).status).toBe(200)
    } finally {
      await browser.close()
    }
  })
})
