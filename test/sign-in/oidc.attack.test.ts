import { exportJWK, generateKeyPair, SignJWT, UnsecuredJWT } from 'jose'
import { describe, expect, it } from 'vitest'
import { Unavailable } from '../../core/unavailable.js'
import {
  answerWith,
  claimsFor,
  methodOf,
  newAttempt,
  secret,
  signIn,
  useUpstreams,
  visit,
} from '../support/server/upstream-attempts.js'

const upstreams = useUpstreams()
const create = (...options: Parameters<ReturnType<typeof upstreams>['create']>) => upstreams().create(...options)

describe('an answer that is not the one that was asked for', () => {
  it('[SI20] comes from another provider: iss is another one', async () => {
    const contributed = await create()
    const { answer, kept } = await visit(contributed, newAttempt())
    expect(answer['iss']).toBe(upstreams().upstream.issuer)
    const before = tokenRequests()
    for (const iss of [[['iss', upstreams().other.issuer]], []]) {
      const sent = Object.fromEntries([...Object.entries(answer).filter(([name]) => name !== 'iss'), ...iss])
      expect(await methodOf(contributed).finish(kept, sent)).toMatchObject({ outcome: 'refused' })
    }
    // The code goes to nobody.
    expect(tokenRequests()).toBe(before)
  })

  it('[SI21] has the code or the state of another browser', async () => {
    const contributed = await create()
    const [mine, theirs] = [await visit(contributed, newAttempt()), await visit(contributed, newAttempt())]
    const { finish } = methodOf(contributed)
    const swapped = { ...mine.answer, code: theirs.answer['code'] ?? '' }
    expect(await finish(mine.kept, swapped)).toMatchObject({ outcome: 'refused' })
    const otherState = { ...mine.answer, state: theirs.answer['state'] ?? '' }
    expect(await finish(mine.kept, otherState)).toMatchObject({ outcome: 'refused' })
  })

  it('[SI22] comes twice', async () => {
    const contributed = await create()
    const { answer, kept } = await visit(contributed, newAttempt())
    expect(await methodOf(contributed).finish(kept, answer)).toMatchObject({ outcome: 'passed' })
    expect(await methodOf(contributed).finish(kept, answer)).toMatchObject({ outcome: 'refused' })
  })

  it('[SI23] has an ID token that nobody signed, that the client secret signed, or for another client or time', async () => {
    const hour = 3600
    const forged: readonly ((nonce: string) => Promise<string> | string)[] = [
      (nonce) => new UnsecuredJWT(claimsFor(upstreams().upstream, nonce)).encode(),
      (nonce) =>
        new SignJWT(claimsFor(upstreams().upstream, nonce))
          .setProtectedHeader({ alg: 'HS256' })
          .sign(Buffer.from(secret)),
      (nonce) =>
        new SignJWT(claimsFor(upstreams().upstream, nonce))
          .setProtectedHeader({ alg: 'ES256' })
          .sign(upstreams().ours.privateKey),
      (nonce) => upstreams().upstream.sign({ ...claimsFor(upstreams().upstream, nonce), aud: 'another' }),
      (nonce) =>
        upstreams().upstream.sign({ ...claimsFor(upstreams().upstream, nonce), iss: upstreams().other.issuer }),
      (nonce) =>
        upstreams().upstream.sign({
          ...claimsFor(upstreams().upstream, nonce),
          exp: claimsFor(upstreams().upstream, nonce).iat - hour,
        }),
      () => upstreams().upstream.sign(claimsFor(upstreams().upstream, 'of another attempt')),
      () => 'junk',
    ]
    const contributed = await create()
    for (const idToken of forged) {
      const attempt = newAttempt()
      const { answer, kept } = await visit(contributed, attempt)
      answerWith(upstreams().upstream, attempt, idToken)
      expect(await methodOf(contributed).finish(kept, answer)).toMatchObject({ outcome: 'refused' })
      upstreams().upstream.instead = () => false
    }
    // The same by the right key, for this client: the double of the token endpoint is not what is refused.
    const attempt = newAttempt()
    const { answer, kept } = await visit(contributed, attempt)
    answerWith(upstreams().upstream, attempt, (nonce) =>
      upstreams().upstream.sign(claimsFor(upstreams().upstream, nonce)),
    )
    expect(await methodOf(contributed).finish(kept, answer)).toMatchObject({ outcome: 'passed' })
  })

  it('[SI24] is older than max_age, or than the new sign-in that was asked for', async () => {
    const contributed = await create()
    const old = Math.floor(Date.now() / 1000) - 1000
    for (const [request, claims] of [
      [{ maxAge: 60 }, { auth_time: old }],
      [{ maxAge: 60 }, {}],
      [{ prompt: 'login' }, { auth_time: old }],
    ] as const) {
      const attempt = newAttempt(request)
      const { answer, kept } = await visit(contributed, attempt)
      answerWith(upstreams().upstream, attempt, (nonce) =>
        upstreams().upstream.sign({ ...claimsFor(upstreams().upstream, nonce), ...claims }),
      )
      expect(await methodOf(contributed).finish(kept, answer)).toMatchObject({ outcome: 'refused' })
      upstreams().upstream.instead = () => false
    }
  })

  it('[SI46] has userinfo that says how the person signed in: only the ID token does', async () => {
    const contributed = await create({ userinfo: true, acr: { '1': 'urn:corp:1' }, subject: 'employee' })
    const { upstream } = upstreams()
    const signedIn = { sub: 'mallory', auth_time: 1000, amr: ['pwd'], employee: 'e-7' }
    const attempt = newAttempt()
    const { answer, kept } = await visit(contributed, attempt)
    answerWith(upstream, attempt, (nonce) => upstream.sign({ ...claimsFor(upstream, nonce), ...signedIn }))
    const byToken = upstream.instead
    upstream.instead = (request, response) => {
      if (request.url !== '/me') return byToken(request, response)
      const info = { ...signedIn, auth_time: 2000, amr: ['hwk'], employee: 'e-8' }
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(info))
      return true
    }
    const result = await methodOf(contributed).finish(kept, answer)
    expect(result).toEqual({ outcome: 'passed', subject: 'e-7', amr: ['pwd'], authTime: 1000 })
  })

  it('[SI46] has an invalid subject', async () => {
    const contributed = await create({ subject: 'employee' })
    const { upstream } = upstreams()
    for (const employee of [undefined, '', 7, ['e-7'], 'ü', 'a b', 'e'.repeat(256)]) {
      const attempt = newAttempt()
      const { answer, kept } = await visit(contributed, attempt)
      answerWith(upstream, attempt, (nonce) => upstream.sign({ ...claimsFor(upstream, nonce), employee }))
      expect(await methodOf(contributed).finish(kept, answer)).toMatchObject({ outcome: 'refused' })
      upstream.instead = () => false
    }
  })

  it('[SI25] names a person of another sign-in method', async () => {
    const [first, second] = [
      await create({ subject: 'sub' }),
      await create({ id: 'partner', subject: 'sub' }, upstreams().other),
    ]
    upstreams().upstream.person = upstreams().other.person = { sub: 'shared', claims: {} }
    expect(await signIn(first)).toMatchObject({ outcome: 'passed', subject: 'shared' })
    expect(await signIn(second)).toMatchObject({ outcome: 'refused', subject: 'shared' })
    const { signal } = newAttempt()
    expect(await first.accounts?.find('shared', signal)).toMatchObject({ subject: 'shared' })
    expect(await second.accounts?.find('shared', signal)).toBeUndefined()
  })
})

const tokenRequests = () => upstreams().upstream.asked.filter((one) => one === 'POST /token').length

describe('[SI26] a provider that is down, slow or has changed its keys', () => {
  it('is an outage, before the browser leaves and when it comes back; nobody is let in or refused', async () => {
    const contributed = await create()
    upstreams().upstream.instead = (_, response) => {
      response.writeHead(503).end()
      return true
    }
    await expect(methodOf(contributed).begin(newAttempt())).rejects.toThrow(Unavailable)
    upstreams().upstream.instead = () => false
    const again = await create()
    const { answer, kept } = await visit(again, newAttempt())
    upstreams().upstream.instead = ({ url }, response) => {
      if (url === '/token') response.writeHead(500).end()
      return url === '/token'
    }
    await expect(methodOf(again).finish(kept, answer)).rejects.toThrow(Unavailable)
  })

  it('holds a browser no longer than its attempt lasts', async () => {
    const contributed = await create()
    const { answer, kept } = await visit(contributed, newAttempt())
    const over = new AbortController()
    upstreams().upstream.instead = ({ url }) => {
      if (url === '/token') over.abort()
      return url === '/token'
    }
    const finished = methodOf(contributed).finish({ ...kept, signal: over.signal }, answer)
    // Not by the deadline that every outbound request has.
    await expect(finished).rejects.toThrow('operation was aborted')
    await expect(finished).rejects.toThrow(Unavailable)
  })

  it('signs in with a key that the provider has just published', async () => {
    const contributed = await create()
    expect(await signIn(contributed)).toMatchObject({ outcome: 'passed' })
    const rotated = await generateKeyPair('ES256')
    const jwk = { ...(await exportJWK(rotated.publicKey)), kid: 'next', alg: 'ES256', use: 'sig' }
    const attempt = newAttempt()
    const { answer, kept } = await visit(contributed, attempt)
    const idToken = (nonce: string) =>
      new SignJWT(claimsFor(upstreams().upstream, nonce))
        .setProtectedHeader({ alg: 'ES256', kid: 'next' })
        .sign(rotated.privateKey)
    answerWith(upstreams().upstream, attempt, idToken)
    const byToken = upstreams().upstream.instead
    upstreams().upstream.instead = (request, response) => {
      if (request.url !== '/jwks') return byToken(request, response)
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ keys: [jwk] }))
      return true
    }
    expect(await methodOf(contributed).finish(kept, answer)).toMatchObject({ outcome: 'passed' })
  })

  it('[SI48] is an outage too where the provider no longer knows this client, and a code that is not good is a refusal', async () => {
    const contributed = await create()
    for (const [error, status] of [
      ['invalid_client', 401],
      ['unauthorized_client', 400],
    ] as const) {
      const { answer, kept } = await visit(contributed, newAttempt())
      upstreams().upstream.instead = ({ url }, response) => {
        if (url !== '/token') return false
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ error }))
        return true
      }
      await expect(methodOf(contributed).finish(kept, answer)).rejects.toThrow(Unavailable)
      upstreams().upstream.instead = () => false
    }
    const { answer, kept } = await visit(contributed, newAttempt())
    const result = await methodOf(contributed).finish(kept, { ...answer, code: 'x' })
    expect(result).toEqual({ outcome: 'refused', why: 'the code is not good' })
  })
})
