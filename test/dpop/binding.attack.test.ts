import { describe, expect, it } from 'vitest'
import { createProver } from '../support/clients/dpop-proof.js'
import { person, publicClient, redirectUri, webClient } from '../support/server/server.js'
import { UserAgent } from '../support/clients/user-agent.js'
import { basic, otherPublicClient } from '../support/clients/clients.js'
import { dpop, setUpDpop } from '../support/server/dpop-set-up.js'
import { decode } from '../support/forge/forge.js'
import { authorizeUrl, verifier } from '../support/forge/mint.js'
import { expectRefusal, type Answer } from '../support/server/token-server.js'

setUpDpop()

const redeem = async (code: string, proof: string | undefined, clientId = 'app'): Promise<Answer> => {
  const form = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier }
  const header = proof === undefined ? {} : { dpop: proof }
  return clientId === 'web'
    ? dpop.host.token(form, { ...header, authorization: basic(webClient) })
    : dpop.host.token({ ...form, client_id: clientId }, header)
}

const refresh = async (token: string, proof: string | undefined, clientId = 'app'): Promise<Answer> => {
  const form = { grant_type: 'refresh_token', refresh_token: token }
  const header = proof === undefined ? {} : { dpop: proof }
  return clientId === 'web'
    ? dpop.host.token(form, { ...header, authorization: basic(webClient) })
    : dpop.host.token({ ...form, client_id: clientId }, header)
}

const confirmation = ({ body }: Answer) => decode(String(body['access_token']), 1)['cnf']

describe('codes that are bound to a key', () => {
  it.each(['app', 'web'])(
    'CC14 a code of %s with dpop_jkt: no proof, another key, another nonce, then the right one',
    async (clientId) => {
      const stranger = createProver('ES256', dpop.host.now)
      const { code } = await dpop.host.mint.code({ clientId, dpopJkt: dpop.prover.jkt })
      expectRefusal(await redeem(code, undefined, clientId), 400, 'invalid_grant')
      expectRefusal(await redeem(code, await dpop.proof({}, stranger), clientId), 400, 'invalid_grant')
      expectRefusal(await redeem(code, stranger.proof(dpop.tokenUrl, undefined), clientId), 400, 'use_dpop_nonce')
      expectRefusal(await redeem(code, 'x', clientId), 400, 'invalid_dpop_proof')
      const answer = await redeem(code, await dpop.proof(), clientId)
      expect(answer).toMatchObject({ status: 200, body: { token_type: 'DPoP' } })
      expect(confirmation(answer)).toEqual({ jkt: dpop.prover.jkt })
    },
  )

  it('CC14 dpop_jkt of the authorization request binds the code, and a malformed thumbprint is refused', async () => {
    const ask = (dpopJkt: string) =>
      new UserAgent().authorize(
        authorizeUrl(dpop.host.server.issuer, {
          client_id: 'app',
          scope: 'openid offline_access',
          dpop_jkt: dpopJkt,
        }),
        person,
      )
    const { jkt } = dpop.prover
    for (const bad of [
      'x',
      `${jkt}=`,
      jkt.slice(1),
      `${jkt}A`,
      `${jkt.slice(0, 42)}B`,
      `${jkt.slice(0, 42)}+`,
      ` ${jkt}`,
    ])
      expect((await ask(bad)).searchParams.get('error')).toBe('invalid_request')
    const code = (await ask(jkt)).searchParams.get('code') ?? ''
    expectRefusal(await redeem(code, undefined), 400, 'invalid_grant')
    expectRefusal(await redeem(code, await dpop.proof({}, createProver('ES256', dpop.host.now))), 400, 'invalid_grant')
    expect((await redeem(code, await dpop.proof())).status).toBe(200)
  })

  it('one proof sent twice with one code, at once: one answer, and nothing is revoked', async () => {
    const { code, grantId } = await dpop.host.mint.code({ clientId: 'app' })
    const proof = await dpop.proof()
    const answers = await Promise.all([1, 2, 3, 4].map(() => redeem(code, proof)))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    for (const answer of answers.filter(({ status }) => status !== 200))
      expectRefusal(answer, 400, 'invalid_dpop_proof')
    expect(await dpop.host.store.revocations('revocations').isRevoked([grantId])).toBe(false)
  })
})

describe('refresh tokens that are bound to a key', () => {
  const start = async (clientId = 'app', proof?: string): Promise<string> => {
    const { code } = await dpop.host.mint.code({ clientId })
    const answer = await redeem(code, proof, clientId)
    expect(answer.status).toBe(200)
    return String(answer.body['refresh_token'])
  }

  it('RT06 of a public client: no proof, or another key, is refused without ending the family', async () => {
    let token = await start('app', await dpop.proof())
    for (let turn = 0; turn < 3; turn++) {
      const stranger = createProver('ES256', dpop.host.now)
      expectRefusal(await refresh(token, undefined), 400, 'invalid_grant')
      expectRefusal(await refresh(token, await dpop.proof({}, stranger)), 400, 'invalid_grant')
      expectRefusal(await refresh(token, 'x'), 400, 'invalid_dpop_proof')
      expectRefusal(await refresh(token, await dpop.proof(), otherPublicClient.client_id), 400, 'invalid_grant')
      const answer = await refresh(token, await dpop.proof())
      expect(answer).toMatchObject({ status: 200, body: { token_type: 'DPoP' } })
      expect(confirmation(answer)).toEqual({ jkt: dpop.prover.jkt })
      token = String(answer.body['refresh_token'])
    }
  })

  it('a public client’s unbound refresh token stays unbound, and its access token is bound to the proof', async () => {
    const token = await start('app')
    const bound = await refresh(token, await dpop.proof())
    expect(confirmation(bound)).toEqual({ jkt: dpop.prover.jkt })
    const unbound = await refresh(String(bound.body['refresh_token']), undefined, publicClient.client_id)
    expect(unbound).toMatchObject({ status: 200, body: { token_type: 'Bearer' } })
    expect(confirmation(unbound)).toBeUndefined()
  })

  it('of a confidential client they are bound only to the client, also after a bound code', async () => {
    const { code } = await dpop.host.mint.code({ clientId: 'web', dpopJkt: dpop.prover.jkt })
    const issued = await redeem(code, await dpop.proof(), 'web')
    const token = String(issued.body['refresh_token'])
    const other = createProver('ES256', dpop.host.now)
    expect(confirmation(await refresh(token, await dpop.proof({}, other), 'web'))).toEqual({ jkt: other.jkt })
    expect(await refresh(token, undefined, 'web')).toMatchObject({ status: 200, body: { token_type: 'Bearer' } })
  })
})
