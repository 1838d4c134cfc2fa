import { randomUUID } from 'node:crypto'
import { request } from 'node:http'
import { describe, expect, it } from 'vitest'
import { createProver } from '../support/clients/dpop-proof.js'
import { basic } from '../support/clients/clients.js'
import { serviceClient } from '../support/server/server.js'
import { boundClient, expectBadProof } from '../support/server/dpop-server.js'
import { claim, dpop, refused, seconds, setUpDpop } from '../support/server/dpop-set-up.js'
import { decode } from '../support/forge/forge.js'
import { expectRefusal, type Answer } from '../support/server/token-server.js'
import { spellingsOf } from '../support/forge/type-spellings.js'

setUpDpop()

describe('DPoP at /token', () => {
  it('DP01 a client that requires DPoP, without a proof', async () => {
    const form = { grant_type: 'client_credentials' }
    expectBadProof(await dpop.host.token(form, { authorization: basic(boundClient) }))
    const answer = await dpop.host.token(form, { authorization: basic(boundClient), dpop: await dpop.proof() })
    expect(answer).toMatchObject({ status: 200, body: { token_type: 'DPoP' } })
    expect(decode(String(answer.body['access_token']), 1)['cnf']).toEqual({ jkt: dpop.prover.jkt })
  })

  it('a client that does not require DPoP gets a bearer token without a proof', async () => {
    const answer = await dpop.ask(undefined)
    expect(answer).toMatchObject({ status: 200, body: { token_type: 'Bearer' } })
    expect(decode(String(answer.body['access_token']), 1)['cnf']).toBeUndefined()
    expect(answer.headers.get('dpop-nonce')).toBeNull()
  })

  it('a proof may spell its type in another case', async () => {
    for (const typ of spellingsOf('dpop+jwt'))
      expect(await dpop.ask(await dpop.proof({ header: { typ } }))).toMatchObject({ status: 200 })
  })

  it('DP02 two headers, in any spelling, the same or another, or two proofs in one', async () => {
    const [first, second] = [await dpop.proof(), await dpop.proof()]
    const body = 'grant_type=client_credentials'
    const post = (headers: readonly string[]): Promise<Answer> =>
      new Promise((resolve, reject) => {
        const sent = request(dpop.tokenUrl, { method: 'POST' }, (response) => {
          let text = ''
          response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
          response.on('end', () =>
            resolve({
              status: response.statusCode ?? 0,
              headers: new Headers(response.headers as Record<string, string>),
              text,
              body: JSON.parse(text) as Record<string, unknown>,
            }),
          )
        })
        sent.on('error', reject)
        sent.setHeader('authorization', basic(serviceClient))
        sent.setHeader('content-type', 'application/x-www-form-urlencoded')
        sent.setHeader('DPoP', headers)
        sent.end(body)
      })
    for (const pair of [
      [first, second],
      [first, first],
      [first, ''],
    ])
      expectRefusal(await post(pair), 400, 'invalid_dpop_proof')
    for (const together of [`${first},${second}`, `${first}, ${first}`, `${first} ${second}`])
      expectBadProof(await dpop.ask(together))
    expect((await dpop.ask(first)).status).toBe(200)
  })

  it('anything but a compact JWS of two objects', async () => {
    const good = await dpop.proof()
    const [head = '', body = '', tail = ''] = good.split('.')
    const other = (text: string) => Buffer.from(text).toString('base64url')
    for (const proof of [
      ...[
        '',
        '.',
        '..',
        'x',
        '{}',
        `${head}.${body}`,
        `${head}.${body}.`,
        `${good}.`,
        `${good}.${tail}`,
        `.${body}.${tail}`,
      ],
      ...[`${good}=`, `${head}=.${body}.${tail}`, `${head}.${body} .${tail}`, `"${good}"`, `DPoP ${good}`],
      ...[`${other('[]')}.${body}.${tail}`, `${head}.${other('"x"')}.${tail}`, `${head}.${other('{')}.${tail}`],
      dpop.prover.sign({ typ: 'dpop+jwt', alg: 'ES256', jwk: dpop.prover.jwk }, '{"htm":"POST","htm":"POST"}'),
      dpop.prover.sign(`{"typ":"dpop+jwt","typ":"dpop+jwt","alg":"ES256"}`, {}),
      'a'.repeat(9000),
    ])
      expectBadProof(await dpop.ask(proof))
    const claims = { padding: 'x'.repeat(8192) }
    await refused({ claims })
  })

  it('another type, a critical extension, another signature', async () => {
    for (const typ of ['JWT', 'dpop', 'dpop+jwt;x=1', 'at+jwt', 'text/dpop+jwt', undefined, null, 1, ['dpop+jwt']])
      await refused({ header: { typ } })
    await refused({ header: { crit: ['exp'], exp: 1 } })
    await refused({ header: { crit: [] } })
    await refused({ header: { b64: true } })
    for (const length of [0, 1, 63, 64, 65, 72, 512]) await refused({ signature: () => Buffer.alloc(length) })
    const stranger = createProver()
    await refused({ header: { jwk: stranger.jwk } })
    const good = await dpop.proof()
    const [head, body, tail = ''] = good.split('.')
    const flipped = Buffer.from(tail, 'base64url')
    flipped[10] = (flipped[10] ?? 0) ^ 1
    expectBadProof(await dpop.ask(`${head}.${body}.${flipped.toString('base64url')}`))
    expect((await dpop.ask(good)).status).toBe(200)
  })

  it('DP05 a malformed jti', async () => {
    for (const jti of [undefined, null, '', 1, [], ['a'], {}, true, 'j'.repeat(257)]) await claim({ jti })
    for (const jti of ['j'.repeat(256), randomUUID(), '\u0000 \ud800 é'])
      expect((await dpop.ask(await dpop.proof({ claims: { jti } }))).status).toBe(200)
  })

  it('DP05 a proof twice, in sequence and at once, and its jti under another signature', async () => {
    const proof = await dpop.proof()
    expect((await dpop.ask(proof)).status).toBe(200)
    for (let again = 0; again < 3; again++) expectBadProof(await dpop.ask(proof))
    const jti = randomUUID()
    const twins = [await dpop.proof({ claims: { jti } }), await dpop.proof({ claims: { jti, iat: seconds() - 1 } })]
    const answers = await Promise.all([...twins, ...twins, ...twins].map((twin) => dpop.ask(twin)))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    for (const answer of answers.filter(({ status }) => status !== 200)) expectBadProof(answer)
    const stranger = createProver('ES256', dpop.host.now)
    expect((await dpop.ask(await dpop.proof({ claims: { jti } }, stranger))).status).toBe(200)
  })

  it('DP05 a proof stays used until the last second of its validity', async () => {
    const proof = await dpop.proof({ claims: { iat: seconds() + 9 } })
    expect((await dpop.ask(proof)).status).toBe(200)
    for (let late = 0; late < 4; late++) {
      dpop.host.later(20_000)
      expectBadProof(await dpop.ask(proof))
    }
    const reasons = (await dpop.host.server.audit()).map((line) => line['reason'])
    expect(reasons).toContain('the proof was already used')
  })

  it('DP05 a refused request does not consume its proof', async () => {
    const proof = await dpop.proof()
    const form = { grant_type: 'client_credentials', scope: 'unknown' }
    expectRefusal(
      await dpop.host.token(form, { authorization: basic(serviceClient), dpop: proof }),
      400,
      'invalid_scope',
    )
    const wrong = { authorization: basic({ ...serviceClient, client_secret: 'wrong' }), dpop: proof }
    expectRefusal(await dpop.host.token({ grant_type: 'client_credentials' }, wrong), 401, 'invalid_client')
    expect((await dpop.ask(proof)).status).toBe(200)
  })

  it('DP07 a missing, wrong or expired nonce', async () => {
    // One is handed out for three minutes of the clock: from the beginning of such a time this test does not see its end.
    const windowMs = 180_000
    dpop.host.later(windowMs - (dpop.host.now() % windowMs))
    const old = await dpop.nonce()
    for (const nonce of [
      undefined,
      null,
      '',
      1,
      {},
      [old],
      `${old}=`,
      old.slice(0, -1),
      ` ${old}`,
      'x'.repeat(43),
      old.toLowerCase(),
    ]) {
      const answer = await dpop.ask(await dpop.proof({ claims: { nonce } }))
      expectRefusal(answer, 400, 'use_dpop_nonce')
      const given = answer.headers.get('dpop-nonce')
      expect(given).toMatch(/^[\w-]{43}$/)
      expect((await dpop.ask(dpop.prover.proof(dpop.tokenUrl, given ?? ''))).status).toBe(200)
    }
    dpop.host.later(windowMs)
    const late = await dpop.ask(dpop.prover.proof(dpop.tokenUrl, old))
    expect(late.status).toBe(200)
    expect(late.headers.get('dpop-nonce')).not.toBe(old)
    dpop.host.later(370_000)
    expectRefusal(await dpop.ask(dpop.prover.proof(dpop.tokenUrl, old)), 400, 'use_dpop_nonce')
  })

  it('DP07 every response to a proof has a valid nonce', async () => {
    let nonce = await dpop.nonce()
    for (let round = 0; round < 5; round++) {
      const answer = await dpop.ask(dpop.prover.proof(dpop.tokenUrl, nonce))
      expect(answer.status).toBe(200)
      nonce = answer.headers.get('dpop-nonce') ?? ''
      dpop.host.later(100_000)
    }
  })
})
