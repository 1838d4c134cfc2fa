import { setTimeout as after } from 'node:timers/promises'
import { challenge } from '../forge/mint.js'
import { publicClient, redirectUri, serviceClient } from '../server/server.js'

/** A public client of the device flow. */
export const televisionClient = {
  client_id: 'tv',
  token_endpoint_auth_method: 'none',
  grant_types: ['urn:ietf:params:oauth:grant-type:device_code'],
  scope: 'openid',
}

/** Of the documentation's range (RFC 5737): the service believes it from its proxy alone, which the test is. */
const address = '203.0.113.66'
const fromThere = { 'x-forwarded-for': address }
/** Requests under way at once. */
const abreast = 32

export interface HostileAddress {
  /** How often each answer came, by kind: `authorize 303`. */
  readonly answers: ReadonlyMap<string, number>
  sent(): number
  /** Everything at once, each kind a tenth above what one address may send, until `until` is over. */
  run(until: Promise<unknown>): Promise<void>
}

/** The largest request that `/authorize` takes. */
const largestRequest = {
  response_type: 'code',
  client_id: publicClient.client_id,
  redirect_uri: redirectUri,
  scope: 'openid',
  code_challenge: challenge,
  code_challenge_method: 'S256',
  state: 's'.repeat(2048),
  nonce: 'n'.repeat(512),
  claims: JSON.stringify({ userinfo: { name: { values: ['v'.repeat(4000)] } } }),
}

/** One address of nobody in particular, which does all that it may and more. */
export const createHostileAddress = (issuer: string): HostileAddress => {
  const answers = new Map<string, number>()
  let sent = 0

  const post = (path: string, form: Record<string, string>, headers: Record<string, string> = {}) =>
    fetch(issuer + path, {
      method: 'POST',
      redirect: 'manual',
      body: new URLSearchParams(form),
      headers: { ...fromThere, ...headers },
    })
  const enrol = () =>
    fetch(`${issuer}/enrol`, {
      method: 'POST',
      headers: { ...fromThere, 'content-type': 'application/json' },
      body: JSON.stringify({ subject: `nobody-${String(sent)}`, second_factor: { kind: 'word', value: 'wrong' } }),
    })

  /** What one address may send in a minute, by the limits as they are without configuration. */
  const kinds: readonly {
    readonly kind: string
    readonly perMinute: number
    readonly send: () => Promise<Response>
  }[] = [
    { kind: 'authorize', perMinute: 300, send: () => post('/authorize', largestRequest) },
    { kind: 'token', perMinute: 2000, send: () => post('/token', { grant_type: 'client_credentials' }) },
    {
      kind: 'wrong secret',
      perMinute: 1000,
      send: () =>
        post(
          '/token',
          { grant_type: 'client_credentials' },
          { authorization: `Basic ${btoa(`${serviceClient.client_id}:a-wrong-secret-${String(sent)}`)}` },
        ),
    },
    { kind: 'revoke', perMinute: 1000, send: () => post('/revoke', { token: 'x' }) },
    { kind: 'introspect', perMinute: 1000, send: () => post('/introspect', { token: 'x' }) },
    { kind: 'userinfo', perMinute: 1000, send: () => fetch(`${issuer}/userinfo`, { headers: fromThere }) },
    {
      kind: 'device',
      perMinute: 600,
      send: () => post('/device_authorization', { client_id: televisionClient.client_id, scope: 'openid' }),
    },
    { kind: 'page', perMinute: 3000, send: () => fetch(`${issuer}/interaction/x/login`, { headers: fromThere }) },
    { kind: 'enrol', perMinute: 600, send: enrol },
    { kind: 'keys', perMinute: 3000, send: () => fetch(`${issuer}/jwks.json`, { headers: fromThere }) },
  ]

  const one = async (kind: string, send: () => Promise<Response>): Promise<void> => {
    const outcome = await send().then(
      async (response) => {
        await response.arrayBuffer()
        return String(response.status)
      },
      () => 'no answer',
    )
    const answer = `${kind} ${outcome}`
    answers.set(answer, (answers.get(answer) ?? 0) + 1)
  }

  return {
    answers,
    sent: () => sent,
    run: async (until) => {
      let over = false
      const stop = () => (over = true)
      const end = until.then(stop, stop)
      const done = kinds.map(() => 0)
      const underWay = new Set<Promise<void>>()
      const begun = performance.now()
      while (!over) {
        const minutes = (performance.now() - begun) / 60_000
        for (const [index, { kind, perMinute, send }] of kinds.entries())
          while (done[index]! < perMinute * 1.1 * minutes && underWay.size < abreast) {
            const asked = one(kind, send).finally(() => underWay.delete(asked))
            underWay.add(asked)
            done[index]! += 1
            sent += 1
          }
        await after(10)
      }
      await end
      await Promise.all(underWay)
    },
  }
}
