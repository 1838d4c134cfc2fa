import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRemoteJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose'
import * as oidc from 'openid-client'
import { expect, it } from 'vitest'
import { startKmsDouble } from '../../core/testing/kms-double/index.js'
import { discover, newAuthorization } from '../support/clients/authorization.js'
import { describeWith } from '../support/services/describe-with.js'
import { person, startServer, subject, webClient } from '../support/server/server.js'
import { makeToken, openProvider } from '../support/signers/softhsm/token.js'
import { UserAgent } from '../support/clients/user-agent.js'

type Json = Record<string, unknown>

/** Everything of an issuance that a relying party can see, but what must differ. */
interface Seen {
  readonly headers: readonly Json[]
  readonly claims: readonly Json[]
  readonly answer: Json
  readonly userinfo: Json
}

const oneOff = ['jti', 'iat', 'exp', 'auth_time', 'nonce', 'sid', 'at_hash']
const issuerValues = ['iss', 'aud']

const without = (object: Json, names: readonly string[]): Json =>
  Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)))

describeWith('softhsm2', 'the whole code flow on local keys, SoftHSM and the KMS double', () => {
  const seen = new Map<string, Seen>()

  /** The same configuration but for `signers` and `keys`. */
  const flow = async (signers: Json, ref: string): Promise<Seen> => {
    await using server = await startServer({
      configure: (written) => ({
        ...written,
        signers,
        keys: [{ kid: 'the-key', alg: 'ES256', signer: Object.keys(signers)[0], ref }],
      }),
    })
    const authentication = oidc.ClientSecretBasic(webClient.client_secret)
    const client = await discover(server.issuer, webClient.client_id, authentication, 'ES256')
    const { url, checks } = await newAuthorization(client)
    const callback = await new UserAgent().authorize(url, person)
    const tokens = await oidc.authorizationCodeGrant(client, callback, checks)
    const refreshed = await oidc.refreshTokenGrant(client, tokens.refresh_token ?? '')
    const userinfo = await oidc.fetchUserInfo(client, tokens.access_token, subject)
    const keys = createRemoteJWKSet(new URL(`${server.issuer}/jwks.json`))
    const all = [tokens, refreshed].flatMap(({ access_token, id_token }) => [access_token, id_token ?? ''])
    for (const token of all) {
      const { payload } = await jwtVerify(token, keys, { issuer: server.issuer })
      expect(payload.sub).toBe(subject)
    }
    return {
      headers: all.map((token) => ({ ...decodeProtectedHeader(token) })),
      claims: all.map((token) => {
        const claims = decodeJwt(token)
        expect([claims.iss, claims.aud]).toContain(server.issuer)
        return { ...without(claims, [...oneOff, ...issuerValues]), names: Object.keys(claims) }
      }),
      answer: without({ ...tokens }, ['access_token', 'id_token', 'refresh_token']),
      userinfo: { ...userinfo },
    }
  }

  it('runs on local keys', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'signet-keys-'))
    const local = { use: 'signers/local', options: { directory, create: true } }
    seen.set('local', await flow({ local }, 'the-key.pem').finally(() => rm(directory, { recursive: true })))
  })

  it('runs on SoftHSM', async () => {
    await using token = await makeToken()
    await using provider = await openProvider(token)
    await provider.create?.('the-key', 'ES256', AbortSignal.timeout(10_000))
    const options = { module: token.module, token: token.label, pin: token.pin, environment: token.environment }
    seen.set('hsm', await flow({ hsm: { use: 'signers/pkcs11', options } }, 'pkcs11:object=the-key'))
  })

  it('runs on the KMS double', async () => {
    process.env['AWS_ACCESS_KEY_ID'] ??= 'AKIADOUBLE'
    process.env['AWS_SECRET_ACCESS_KEY'] ??= 'the double does not look at it'
    await using kms = await startKmsDouble()
    const { arn } = await kms.createKey('ECC_NIST_P256')
    const options = { region: 'eu-central-1', endpoint: kms.endpoint }
    seen.set('kms', await flow({ kms: { use: 'signers/aws-kms', options } }, arn))
  })

  it('cannot be distinguished', () => {
    expect([...seen.keys()]).toEqual(['local', 'hsm', 'kms'])
    expect(seen.get('local')?.headers[0]).toEqual({ alg: 'ES256', kid: 'the-key', typ: 'at+jwt' })
    expect(seen.get('hsm')).toEqual(seen.get('local'))
    expect(seen.get('kms')).toEqual(seen.get('local'))
  })
})
