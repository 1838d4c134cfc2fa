import { setTimeout as after } from 'node:timers/promises'
import { basic } from '../clients/clients.js'
import { authorizeUrl, verifier } from '../forge/mint.js'
import { read, type Answer } from '../server/token-server.js'
import { createDevice } from '../clients/attestation.js'
import { createProver } from '../clients/dpop-proof.js'
import { person, publicClient, redirectUri, serviceClient } from '../server/server.js'
import { newAssertion, signedForm } from '../clients/signing-client.js'
import { UserAgent } from '../clients/user-agent.js'

type Kind = 'sign-in' | 'single sign-on' | 'code' | 'refresh' | 'dpop' | 'private_key_jwt' | 'userinfo' | 'enrolment'

export interface Took {
  readonly p50: number
  readonly p99: number
  readonly count: number
}

export interface EverybodyElse {
  /** What went wrong so far. */
  readonly failures: readonly string[]
  /** A person signs in, and a client has a refresh token. */
  begin(): Promise<void>
  /** All kinds in turn, 30 a second, until `until` is over; milliseconds by kind. */
  run(until: Promise<unknown>): Promise<ReadonlyMap<Kind, Took>>
}

const perSecond = 30
const abreast = 32
const machineForm = { grant_type: 'client_credentials', scope: 'read' }
const authorization = basic(serviceClient)
const asked = { client_id: publicClient.client_id, scope: 'openid offline_access' }
const codeForm = { grant_type: 'authorization_code', redirect_uri: redirectUri, code_verifier: verifier }

/** A browser somewhere: each has an address of its own. */
class Browser extends UserAgent {
  readonly #address: string

  constructor(number: number) {
    super()
    this.#address = `198.51.${String(100 + (Math.floor(number / 250) % 100))}.${String(1 + (number % 250))}`
  }

  override fetch(url: string | URL, init: RequestInit = {}): Promise<Response> {
    const headers = new Headers(init.headers)
    headers.set('x-forwarded-for', this.#address)
    return super.fetch(url, { ...init, headers })
  }
}

/** People, clients and devices who do nothing wrong, each at an address of its own. */
export const createEverybodyElse = (issuer: string): EverybodyElse => {
  const failures: string[] = []
  const signedIn = new Browser(0)
  const prover = createProver()
  const refreshTokens: string[] = []
  let took = new Map<Kind, number[]>()
  let accessToken = ''
  let nonce: string | undefined
  let number = 1

  const post = async (path: string, form: Record<string, string>, headers: Record<string, string> = {}) =>
    read(await fetch(issuer + path, { method: 'POST', body: new URLSearchParams(form), headers }))

  const time = async <R>(kind: Kind, work: () => Promise<R>): Promise<R> => {
    const begun = performance.now()
    const result = await work()
    const times = took.get(kind) ?? []
    took.set(kind, times)
    times.push(performance.now() - begun)
    return result
  }
  const getAnswer = (answer: Answer): Answer => {
    if (answer.status !== 200) throw new Error(`${String(answer.status)} ${answer.text.slice(0, 200)}`)
    return answer
  }
  const redeem = async (back: URL): Promise<Answer> => {
    const code = back.searchParams.get('code')
    if (code === null) throw new Error(`no code: ${back.search}`)
    return time('code', async () => getAnswer(await post('/token', { ...codeForm, client_id: asked.client_id, code })))
  }

  const kinds: Readonly<Record<Exclude<Kind, 'code'>, () => Promise<unknown>>> = {
    'sign-in': async () => {
      const browser = new Browser((number += 1))
      await redeem(await time('sign-in', () => browser.authorize(authorizeUrl(issuer, asked), person)))
    },
    'single sign-on': async () => {
      const { left } = await time('single sign-on', () => signedIn.follow(authorizeUrl(issuer, asked)))
      if (left === undefined) throw new Error('a page where there should be none')
      const { body } = await redeem(left)
      refreshTokens.push(String(body['refresh_token']))
    },
    refresh: async () => {
      const token = refreshTokens.shift()
      if (token === undefined) return
      const form = { grant_type: 'refresh_token', client_id: asked.client_id, refresh_token: token }
      const { body } = await time('refresh', async () => getAnswer(await post('/token', form)))
      refreshTokens.push(String(body['refresh_token']))
      accessToken = String(body['access_token'])
    },
    dpop: async () => {
      for (let attempt = 0; ; attempt += 1) {
        const dpop = prover.proof(`${issuer}/token`, nonce)
        const answer = await time('dpop', () => post('/token', machineForm, { authorization, dpop }))
        nonce = answer.headers.get('dpop-nonce') ?? nonce
        if (answer.body['error'] === 'use_dpop_nonce' && attempt === 0) continue
        return getAnswer(answer)
      }
    },
    private_key_jwt: () => {
      const assertion = newAssertion(issuer, Date.now())
      return time('private_key_jwt', async () => getAnswer(await post('/token', signedForm(assertion))))
    },
    userinfo: () =>
      time('userinfo', async () =>
        getAnswer(
          await read(await fetch(`${issuer}/userinfo`, { headers: { authorization: `Bearer ${accessToken}` } })),
        ),
      ),
    enrolment: async () => {
      const own = (number += 1)
      const device = await createDevice(issuer, { subject: `person-${own}`, principal_id: `phone-${own}` })
      await time('enrolment', () => device.attest())
    },
  }

  const take = async (kind: keyof typeof kinds): Promise<void> => {
    try {
      await kinds[kind]()
    } catch (error) {
      failures.push(`${kind}: ${error instanceof Error ? error.message : String(error)}`)
    }
  }

  return {
    failures,
    begin: async () => {
      await redeem(await signedIn.authorize(authorizeUrl(issuer, asked), person))
      await take('single sign-on')
      await take('refresh')
    },
    run: async (until) => {
      took = new Map()
      let over = false
      const stop = () => (over = true)
      const end = until.then(stop, stop)
      // Passwords cost a hash each, and a subject may enrol so often: they come less often than machines.
      const order: (keyof typeof kinds)[] = []
      const machines = ['dpop', 'private_key_jwt', 'refresh', 'userinfo'] as const
      for (const rare of ['sign-in', 'single sign-on', 'enrolment', 'single sign-on'] as const)
        order.push(rare, ...machines, ...machines)
      const underWay = new Set<Promise<void>>()
      const begun = performance.now()
      for (let turn = 0; !over;) {
        const due = ((performance.now() - begun) / 1000) * perSecond
        while (turn < due && underWay.size < abreast) {
          const taken = take(order[turn % order.length]!).finally(() => underWay.delete(taken))
          underWay.add(taken)
          turn += 1
        }
        await after(5)
      }
      await end
      await Promise.all(underWay)
      return new Map(
        [...took].map(([kind, times]) => {
          const sorted = times.toSorted((one, other) => one - other)
          const at = (share: number) => Math.round(10 * (sorted[Math.ceil(share * sorted.length) - 1] ?? 0)) / 10
          return [kind, { p50: at(0.5), p99: at(0.99), count: times.length }]
        }),
      )
    },
  }
}
