import { expect, it } from 'vitest'
import { createFapiClient, fapiMetadata } from '../support/clients/fapi-client.js'
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
