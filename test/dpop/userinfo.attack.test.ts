import { describe, expect, it } from 'vitest'
import { accessTokenHash, createProver } from '../support/clients/dpop-proof.js'
import { dpop, seconds, setUpDpop } from '../support/server/dpop-set-up.js'
import { decode, forge } from '../support/forge/forge.js'
import { expectRefusal, type Answer } from '../support/server/token-server.js'

setUpDpop()

const expectChallenge = (answer: Answer, error: string): void =>
  expect(answer.headers.get('www-authenticate')).toMatch(new RegExp(`^DPoP error="${error}", algs="[A-Z0-9a-z ]*ES256`))

describe('DPoP at /userinfo', () => {
  it('DP03, DP04, DP07 an invalid proof is 401 here', async () => {
    const token = await dpop.boundToken()
    const ath = accessTokenHash(token)
    for (const claims of [
      ...[{ htm: 'POST' }, { htu: dpop.tokenUrl }, { iat: seconds() - 72 }, { jti: 1 }],
      ...[
        { ath: undefined },
        { ath: '' },
        { ath: `${ath}=` },
        { ath: accessTokenHash('x') },
        { ath: token },
        { ath: [ath] },
      ],
      { ath: Buffer.from(ath, 'base64url').toString('hex') },
    ]) {
      const answer = await dpop.userinfo(`DPoP ${token}`, await dpop.userinfoProof(token, { claims }))
      expectRefusal(answer, 401, 'invalid_dpop_proof')
      expectChallenge(answer, 'invalid_dpop_proof')
    }
    for (const nonce of [undefined, 'x', '']) {
      const answer = await dpop.userinfo(`DPoP ${token}`, await dpop.userinfoProof(token, { claims: { nonce } }))
      expectRefusal(answer, 401, 'use_dpop_nonce')
      expectChallenge(answer, 'use_dpop_nonce')
      expect(answer.headers.get('dpop-nonce')).toMatch(/^[\w-]{43}$/)
    }
  })

  it('DP05 a proof is accepted once', async () => {
    const token = await dpop.boundToken()
    const proof = await dpop.userinfoProof(token)
    const answers = await Promise.all([1, 2, 3, 4].map(() => dpop.userinfo(`DPoP ${token}`, proof)))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    for (const answer of answers.filter(({ status }) => status !== 200)) {
      expectRefusal(answer, 401, 'invalid_dpop_proof')
      expectChallenge(answer, 'invalid_dpop_proof')
    }
  })

  it('DP08 the hash of another token, a proof of another key, or none', async () => {
    const [token, other] = [await dpop.boundToken(), await dpop.boundToken()]
    expectRefusal(await dpop.userinfo(`DPoP ${token}`, await dpop.userinfoProof(other)), 401, 'invalid_dpop_proof')
    const stranger = createProver('ES256', dpop.host.now)
    const answer = await dpop.userinfo(`DPoP ${token}`, await dpop.userinfoProof(token, {}, stranger))
    expectRefusal(answer, 401, 'invalid_token')
    expectChallenge(answer, 'invalid_token')
    for (const proof of [undefined, '', 'x']) {
      const without = await dpop.userinfo(`DPoP ${token}`, proof)
      expectRefusal(without, 401, 'invalid_dpop_proof')
      expectChallenge(without, 'invalid_dpop_proof')
    }
  })

  it('DP09 a bound token as bearer, in header or body, with or without its proof', async () => {
    const token = await dpop.boundToken()
    for (const scheme of ['Bearer', 'bearer', 'BEARER'])
      for (const proof of [undefined, await dpop.userinfoProof(token)]) {
        const answer = await dpop.userinfo(`${scheme} ${token}`, proof)
        expectRefusal(answer, 401, 'invalid_token')
        expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer error="invalid_token", DPoP algs="/)
      }
    const response = await fetch(dpop.userinfoUrl, {
      method: 'POST',
      body: new URLSearchParams({ access_token: token }),
      headers: { dpop: await dpop.userinfoProof(token, { claims: { htm: 'POST' } }) },
    })
    expect(response.status).toBe(401)
    expect(await response.json()).toMatchObject({ error: 'invalid_token' })
    for (const scheme of ['dpop', 'DPOP'])
      expect((await dpop.userinfo(`${scheme} ${token}`, await dpop.userinfoProof(token))).status).toBe(200)
  })

  it('DP10 an unbound token with the scheme DPoP, and empty confirmations', async () => {
    const { code } = await dpop.host.mint.code({ clientId: 'app' })
    const issued = await dpop.host.redeem(code, {}, { client_id: 'app' })
    const bearer = String(issued.body['access_token'])
    const claims = decode(bearer, 1)
    const key = await dpop.host.key()
    const withCnf = (cnf: unknown): string => forge(key, decode(bearer, 0), { ...claims, cnf })
    const { jkt } = dpop.prover
    const expectInvalid = (answer: Answer): void => expectRefusal(answer, 401, 'invalid_token')
    expectInvalid(await dpop.userinfo(`DPoP ${bearer}`, await dpop.userinfoProof(bearer)))
    expectInvalid(await dpop.userinfo(`DPoP ${bearer}`))
    for (const cnf of [
      {},
      null,
      [],
      '',
      jkt,
      1,
      true,
      { jkt: '' },
      { jkt: null },
      { jkt: [jkt] },
      { jwk: dpop.prover.jwk },
      { 'x5t#S256': jkt },
      { jkt, 'x5t#S256': jkt },
    ]) {
      const token = withCnf(cnf)
      expectInvalid(await dpop.userinfo(`DPoP ${token}`, await dpop.userinfoProof(token)))
      expectInvalid(await dpop.userinfo(`Bearer ${token}`))
    }
    const good = withCnf({ jkt })
    expect((await dpop.userinfo(`DPoP ${good}`, await dpop.userinfoProof(good))).status).toBe(200)
    expect((await dpop.host.userinfo(bearer)).status).toBe(200)
  })
})
