import type { IncomingMessage, ServerResponse } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createVerifier, forHttp } from '../../libraries/verify/index.js'
import {
  createTestDevice,
  createTestIssuer,
  type TestDevice,
  type TestIssuer,
} from '../support/verify/attested-device.js'
import { createNaiveVerifier } from '../support/verify/naive-verifier.js'
import { ask, listen, type Answer, type Sent } from '../support/verify/verify-server.js'

const audience = 'https://api.example'
const start = Date.UTC(2026, 0, 1)
let now = start
const clock = () => now

/** Bytes of bodies that either verifier has read before it answered: what comes later, Node throws away. */
const read = { naive: 0, ours: 0 }
const counting = (who: keyof typeof read, request: IncomingMessage, response: ServerResponse): IncomingMessage => {
  const emit = request.emit.bind(request)
  request.emit = (event: string | symbol, ...rest: unknown[]) => {
    if (event === 'data' && !response.headersSent) read[who] += (rest[0] as Buffer).length
    return emit(event, ...(rest as []))
  }
  return request
}

let issuer: TestIssuer
let naive: Awaited<ReturnType<typeof listen>>
let ours: Awaited<ReturnType<typeof listen>>

beforeAll(async () => {
  issuer = createTestIssuer('https://issuer.example', clock)
  const check = createNaiveVerifier({ issuer: issuer.issuer, jwks: issuer.jwks, audience, clock, skew: 30 })
  naive = await listen((request, response) => {
    check(counting('naive', request, response)).then(
      (found) => answer(response, 200, found),
      (error: Error) => answer(response, 401, { error_code: error.message }),
    )
  })
  const verifier = createVerifier({ issuers: [{ issuer: issuer.issuer, jwks: issuer.jwks() }], audience, clock })
  const listener = forHttp(verifier, (_request, response, { body: _body, ...found }) => answer(response, 200, found))
  ours = await listen((request, response) => listener(counting('ours', request, response), response))
})
afterAll(() => Promise.all([naive.close(), ours.close()]))

const answer = (response: ServerResponse, status: number, body: object): void => {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

const signed = (device: TestDevice, sent: Omit<Sent, 'headers'>, claims = {}, header = {}): Sent => ({
  ...sent,
  headers: [
    'x-attestation',
    issuer.attest(device.jkt),
    'x-signature',
    device.signature({ ...sent, audience, claims, header }),
  ],
})

const both = async (...requests: readonly Sent[]): Promise<{ readonly naive: Answer; readonly ours: Answer }> => {
  let last: { naive: Answer; ours: Answer } | undefined
  for (const sent of requests) last = { naive: await ask(naive.port, sent), ours: await ask(ours.port, sent) }
  if (!last) throw new Error('nothing was sent')
  return last
}

/** VR: what the naive verifier lets pass, and why this one does not. */
const weaknesses: readonly (readonly [
  id: string,
  what: string,
  reason: string,
  make: (device: TestDevice) => Sent[],
])[] = [
  [
    'VR01',
    'a token of another kind by the key of the issuer, with the claims of an attestation',
    'wrong_type',
    (device) => {
      const sent = { method: 'GET', target: '/a' }
      const other = issuer.attest(device.jkt, {}, { typ: 'at+jwt' })
      return [{ ...sent, headers: ['x-attestation', other, 'x-signature', device.signature({ ...sent, audience })] }]
    },
  ],
  [
    'VR02',
    'a token of another kind by the key of the device, such as the proof of an enrolment',
    'wrong_type',
    (device) => [signed(device, { target: '/a' }, {}, { typ: 'enrol-proof+jws' })],
  ],
  [
    'VR02',
    'a signature without a type',
    'wrong_type',
    (device) => [signed(device, { target: '/a' }, {}, { typ: undefined })],
  ],
  [
    'VR03',
    'a body is taken away from a signature that covers one',
    'body_mismatch',
    (device) => {
      const { headers = [] } = signed(device, { method: 'POST', target: '/a', body: 'pay' })
      return [{ method: 'POST', target: '/a', headers }]
    },
  ],
  [
    'VR03',
    'the same with a body in chunks that is empty',
    'body_mismatch',
    (device) => {
      const { headers = [] } = signed(device, { method: 'POST', target: '/a', body: 'pay' })
      return [{ method: 'POST', target: '/a', headers, chunked: true }]
    },
  ],
  [
    'VR04',
    'a query is taken away from a signature that covers one',
    'query_mismatch',
    (device) => {
      const { headers = [] } = signed(device, { target: '/a?only=mine' })
      return [{ target: '/a', headers }]
    },
  ],
  [
    'VR05',
    'two attestations: the one behind may read the other',
    'duplicate_header',
    (device) => {
      const { headers = [], ...sent } = signed(device, { target: '/a' })
      return [{ ...sent, headers: [...headers, 'X-Attestation', issuer.attest(createTestDevice(clock).jkt)] }]
    },
  ],
  [
    'VR05',
    'two signatures',
    'duplicate_header',
    (device) => {
      const { headers = [], ...sent } = signed(device, { target: '/a' })
      return [{ ...sent, headers: [...headers, 'X-Signature', 'x'] }]
    },
  ],
  [
    'VR06',
    'a signature that is good for a year',
    'lifetime_too_long',
    (device) => [signed(device, { target: '/a' }, { exp: start / 1000 + 31_536_000 })],
  ],
  [
    'VR06',
    'a signature that is good for 301 seconds',
    'lifetime_too_long',
    (device) => [signed(device, { target: '/a' }, { exp: start / 1000 + 301 })],
  ],
  [
    'VR06',
    'a signature that ends before it begins',
    'lifetime_too_long',
    (device) => [signed(device, { target: '/a' }, { iat: start / 1000 + 20, exp: start / 1000 + 10 })],
  ],
  [
    'VR07',
    'a path that is no path, in absolute form',
    'path_mismatch',
    (device) => [signed(device, { target: 'http://elsewhere.example/a' })],
  ],
]

describe('a wire-compatible verifier accepts this, and ours does not', () => {
  it.each(weaknesses)('%s: %s', async (_id, _what, reason, make) => {
    now = start
    const answers = await both(...make(createTestDevice(clock)))
    expect(answers.naive.status).toBe(200)
    expect(answers.ours).toMatchObject({ status: 401, body: { error: 'invalid_signature', error_code: reason } })
    expect(answers.ours.headers['www-authenticate']).toBe(
      `DeviceSignature error="invalid_signature", error_code="${reason}"`,
    )
  })

  it('VR08: a signature again, when it has ended and the clock skew still lets it pass', async () => {
    now = start
    const sent = signed(createTestDevice(clock), { target: '/a' })
    expect(await both(sent)).toMatchObject({ naive: { status: 200 }, ours: { status: 200 } })
    now = start + 75_000
    // Something else comes by, at which both forget what has ended.
    await both(signed(createTestDevice(clock), { target: '/a' }))
    expect(await both(sent)).toMatchObject({
      naive: { status: 200 },
      ours: { status: 401, body: { error_code: 'replay_detected' } },
    })
    now = start + 90_000
    expect((await both(sent)).ours.body).toMatchObject({ error_code: 'replay_detected' })
    now = start + 91_000
    expect((await both(sent)).ours.body).toMatchObject({ error_code: 'signature_expired' })
  })

  it('VR09: a device that uses the ids of another one does not shut it out', async () => {
    now = start
    const jti = 'the-id-that-the-other-will-use'
    await both(signed(createTestDevice(clock), { target: '/a' }, { jti }))
    expect(await both(signed(createTestDevice(clock), { target: '/a' }, { jti }))).toMatchObject({
      naive: { status: 401, body: { error_code: 'replay_detected' } },
      ours: { status: 200 },
    })
  })

  it('VR10: a large body from an unauthenticated caller is not read', async () => {
    now = start
    const sent = signed(createTestDevice(clock), { method: 'POST', target: '/a', body: 'x'.repeat(100_000) })
    const before = { ...read }
    // The name of the method is changed: everything but that is right.
    await both({ ...sent, method: 'PUT' })
    expect(read.naive - before.naive).toBe(100_000)
    expect(read.ours - before.ours).toBe(0)
    await both(sent)
    expect(read.ours - before.ours).toBe(100_000)
  })

  it('VR11: a service is not taken for a device', async () => {
    now = start
    const device = createTestDevice(clock)
    const attestation = issuer.attest(device.jkt, { principal_type: 'service' })
    const headers = ['x-attestation', attestation, 'x-signature', device.signature({ target: '/a', audience })]
    const answers = await both({ target: '/a', headers })
    expect(answers.naive.body).toEqual({ subject: 'alice', device: 'phone-1' })
    expect(answers.ours.body).toMatchObject({
      principal: {
        issuer: 'https://issuer.example',
        subject: 'alice',
        principalId: 'phone-1',
        principalType: 'service',
      },
      attributes: { model: 'P1' },
      jkt: device.jkt,
    })
  })
})
