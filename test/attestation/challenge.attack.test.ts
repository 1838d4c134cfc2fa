import { createServer } from 'node:http'
import { describe, expect, it } from 'vitest'
import { postJson } from '../support/clients/attestation.js'
import { expectNamed, startAttestationServer } from '../support/server/attestation-server.js'
import { device, expectBurnt, server, setUpAttestation } from '../support/server/attestation-set-up.js'
import { spellingsOf } from '../support/forge/type-spellings.js'

setUpAttestation()

describe('challenges', () => {
  it('row 1: a completed challenge is like an unknown one, byte by byte, with good and bad signatures', async () => {
    const challenge = await device.challenge()
    const signature = await device.sign({ challenge })
    expect((await device.complete(challenge, signature)).status).toBe(200)
    const unknown = 'A'.repeat(43)
    const answers = [
      await device.complete(challenge, signature),
      await device.complete(challenge),
      await device.complete(challenge, 'x.y.z'),
      await device.complete(challenge, await device.sign({ challenge }, { alg: 'none' })),
      await device.complete(unknown),
      await device.complete(unknown, 'x.y.z'),
    ]
    // A replay makes no key sign.
    const signed = (await server.host.server.audit()).filter(
      ({ event, jkt }) => event === 'attestation.signed' && jkt === device.jkt,
    )
    expect(signed).toHaveLength(1)
    for (const answer of answers) {
      expectNamed(answer, 'InvalidChallenge')
      expect(answer.text).toBe(answers[0]?.text)
    }
  })

  it('row 1: an expired challenge is like an unknown one', async () => {
    const challenge = await device.challenge()
    server.host.later(300_000)
    expectNamed(await device.complete(challenge), 'InvalidChallenge')
    expect((await device.complete(await device.challenge())).status).toBe(200)
  })

  it('row 2: fifty completions at once: one attestation', async () => {
    const challenge = await device.challenge()
    const signatures = await Promise.all(Array.from({ length: 50 }, () => device.sign({ challenge })))
    const answers = await Promise.all(signatures.map((signature) => device.complete(challenge, signature)))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    for (const answer of answers) if (answer.status !== 200) expectNamed(answer, 'InvalidChallenge')
    const issued = (await server.host.server.audit()).filter(
      ({ event, jkt }) => event === 'attestation.issued' && jkt === device.jkt,
    )
    expect(issued).toHaveLength(1)
  })

  it('row 2: fifty wrong signatures beside a right one: at most one attestation, and no challenge remains', async () => {
    const challenge = await device.challenge()
    const stranger = await server.device()
    const wrong = await stranger.sign({ challenge })
    const right = await device.sign({ challenge })
    const sent = Array.from({ length: 50 }, (_, index) => device.complete(challenge, index === 25 ? right : wrong))
    const answers = await Promise.all(sent)
    const ended = answers.filter(({ body, status }) => status === 200 || body['error_code'] !== 'InvalidChallenge')
    expect(ended).toHaveLength(1)
    expectNamed(await device.complete(challenge, right), 'InvalidChallenge')
  })

  it.each([['A'.repeat(43)], [''], ['x'], ['{}'], ['../../etc/passwd'], ['é'.repeat(43)], ['A'.repeat(20_000)]])(
    'row 3: never issued: %.20s',
    async (challenge) => {
      expectNamed(await device.complete(challenge, 'x.y.z'), 'InvalidChallenge')
    },
  )

  it('row 3: a challenge with added characters', async () => {
    const challenge = await device.challenge()
    for (const spelled of [`${challenge}=`, ` ${challenge}`, `${challenge}\n`, challenge.slice(1), `${challenge}.`])
      expectNamed(await device.complete(spelled), 'InvalidChallenge')
    expect((await device.complete(challenge)).status).toBe(200)
  })

  it('row 4: the signature is over another challenge', async () => {
    const other = await device.challenge()
    await expectBurnt(() => device.sign({ challenge: other }))
    for (const challenge of [null, 1, '', [other], { other }, undefined])
      await expectBurnt(() => device.sign({ challenge }))
    expect((await device.complete(other)).status).toBe(200)
  })

  it('row 5: another key, and headers that contain it; nothing is fetched', async () => {
    const stranger = await server.device()
    let visits = 0
    const trap = createServer((_request, response) => {
      visits++
      response.end('{}')
    }).listen(0, '127.0.0.1')
    await new Promise((resolve) => trap.once('listening', resolve))
    const url = `http://127.0.0.1:${String((trap.address() as { port: number }).port)}/keys`
    const hints = [
      {},
      { jwk: stranger.jwk },
      { x5c: ['MIIB'] },
      { jku: url },
      { x5u: url },
      { kid: stranger.jkt },
      { kid: 'es256' },
    ]
    for (const hint of hints) await expectBurnt((challenge) => stranger.sign({ challenge }, { alg: 'ES256', ...hint }))
    // By the enrolled key the hints mean nothing.
    for (const hint of hints) {
      const challenge = await device.challenge()
      const signature = await device.sign({ challenge }, { alg: 'ES256', ...hint })
      expect((await device.complete(challenge, signature)).status).toBe(200)
    }
    expect(visits).toBe(0)
    await new Promise((resolve) => trap.close(resolve))
  })
})

describe('row 14: signed for another purpose', () => {
  const now = () => Math.floor(server.host.now() / 1000)

  it('the claims of the proof must match', async () => {
    const claims: readonly Record<string, unknown>[] = [
      ...['https://evil.example', `${server.issuer}/`, [], [server.issuer, 'https://evil.example'], null, 1].map(
        (aud) => ({ aud }),
      ),
      ...['https://evil.example', server.issuer, '', null].map((iss) => ({ iss })),
      ...[now() - 3600, now() + 3600, 'now', null, 1.5, now() + 60.5].map((iat) => ({ iat })),
    ]
    for (const claim of claims) await expectBurnt((challenge) => device.sign({ challenge, ...claim }))
    for (const typ of ['dpop+jwt', 'at+jwt', 'device-attestation+jwt', 'enrol-proof+jwt', '', null, 1])
      await expectBurnt((challenge) => device.sign({ challenge }, { alg: 'ES256', typ }))
  })

  it('a proof with matching claims passes, and so does a bare one', async () => {
    const complete = async (claims: Record<string, unknown>, header: Record<string, unknown> = {}) => {
      const challenge = await device.challenge()
      return device.complete(challenge, await device.sign({ challenge, ...claims }, { alg: 'ES256', ...header }))
    }
    expect((await complete({})).status).toBe(200)
    const typ = 'enrol-proof+jws'
    expect((await complete({ aud: server.issuer, iat: now() }, { typ })).status).toBe(200)
    expect((await complete({ aud: server.issuer, iat: now() + 0.5 }, { typ })).status).toBe(200)
    expect((await complete({ aud: [server.issuer], iss: 'alice', iat: now() }, { typ: 'JWT' })).status).toBe(200)
    expect((await complete({ iss: device.jkt })).status).toBe(200)
    for (const spelled of ['enrol-proof+jws', 'JWT', 'JOSE'].flatMap(spellingsOf))
      expect((await complete({}, { typ: spelled })).status, spelled).toBe(200)
  })

  it('require_audience_in_proof refuses a bare proof', async () => {
    await using strict = await startAttestationServer({ section: { require_audience_in_proof: true } })
    const own = await strict.device()
    const challenge = await own.challenge()
    expectNamed(await own.complete(challenge), 'ChallengeSignatureInvalid')
    const next = await own.challenge()
    const signature = await own.sign({ challenge: next, aud: strict.issuer })
    expect((await own.complete(next, signature)).status).toBe(200)
  })
})

describe('bodies of /enrol/complete', () => {
  it.each([
    [{}],
    [{ challenge: 1 }],
    [{ challenge: null, challenge_signature: 'x' }],
    [{ challenge: 'x' }],
    [[]],
    ['x'],
  ])('%j', async (body) => {
    expectNamed(await postJson(`${server.issuer}/enrol/complete`, JSON.stringify(body)), 'InvalidRequest')
  })

  it('row 13: both forms of an ECDSA signature are valid, and only one of them counts', async () => {
    const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n
    const challenge = await device.challenge()
    const jws = await device.sign({ challenge })
    const [header, payload, signature = ''] = jws.split('.')
    const bytes = Buffer.from(signature, 'base64url')
    const s = order - BigInt(`0x${bytes.subarray(32).toString('hex')}`)
    const other = Buffer.concat([bytes.subarray(0, 32), Buffer.from(s.toString(16).padStart(64, '0'), 'hex')])
    const twin = [header, payload, other.toString('base64url')].join('.')
    const answers = await Promise.all([device.complete(challenge, jws), device.complete(challenge, twin)])
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 401])
  })

  it('row 39: the store has a hash, the public key and the future claims, but no challenge', async () => {
    const challenge = await device.challenge()
    const { readFile } = await import('node:fs/promises')
    const data = await readFile(`${server.host.server.directory}/store/data.mdb`)
    expect(data.includes(device.jwk.x)).toBe(true)
    expect(data.includes(challenge)).toBe(false)
  })
})
