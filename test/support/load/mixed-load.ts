import { inspect } from 'node:util'
import { setTimeout as after } from 'node:timers/promises'
import { basic } from '../clients/clients.js'
import { authorizeUrl, verifier } from '../forge/mint.js'
import { read, type Answer } from '../server/token-server.js'
import { createProver } from '../clients/dpop-proof.js'
import { Ledger } from './ledger/ledger.js'
import { person, publicClient, redirectUri, serviceClient } from '../server/server.js'
import { UserAgent } from '../clients/user-agent.js'

type Kind = 'client_credentials' | 'authorize' | 'code' | 'refresh' | 'introspection' | 'dpop' | 'discovery' | 'replay'

/** Requests under way at once: a machine that is too slow for the rate is not buried, it shows in the rate. */
const abreast = 64

export interface MixedLoad {
  readonly ledger: Ledger
  /** Requests so far that were answered otherwise than they should be, or not at all. */
  readonly failures: readonly string[]
  /** Milliseconds that each request took, by kind. */
  readonly took: ReadonlyMap<Kind, readonly number[]>
  sent(): number
  /** A person signs in and consents; and so many clients have a refresh token that they use one after the other. */
  begin(count: number): Promise<void>
  /** Requests of all kinds in turn, so many a second, until `until` has come out one way or the other. */
  run(perSecond: number, until: Promise<unknown>): Promise<void>
  /** The last `count` codes and proofs that were accepted, once more: all have to be refused. */
  replay(count: number): Promise<void>
}

const machineForm = { grant_type: 'client_credentials', scope: 'read' }
const authorization = basic(serviceClient)
const asked = { client_id: publicClient.client_id, scope: 'openid offline_access' }
const codeForm = { grant_type: 'authorization_code', redirect_uri: redirectUri, code_verifier: verifier }
const discoveryPaths = ['/.well-known/openid-configuration', '/jwks.json']

const isOk = ({ status }: Answer): boolean => status === 200
const tell = (answer: Answer | Error): string =>
  answer instanceof Error ? inspect(answer.cause) : `${answer.status} ${answer.text.slice(0, 100)}`

/** Honest clients of a service that several replicas are, who know nothing of these; what they are answered is in the books. */
export const createMixedLoad = (issuer: string): MixedLoad => {
  const ledger = new Ledger()
  const failures: string[] = []
  const took = new Map<Kind, number[]>()
  const user = new UserAgent()
  const prover = createProver()
  const documents = new Map<string, string>()
  const accessTokens: string[] = []
  const refreshTokens: string[] = []
  const accepted: (() => Promise<Answer>)[] = []
  let nonce: string | undefined
  let sent = 0

  const ask = async (kind: Kind, isRight: (answer: Answer) => boolean, send: () => Promise<Answer>) => {
    sent += 1
    const begun = performance.now()
    const answer = await send().catch((error: unknown) => error as Error)
    const times = took.get(kind) ?? []
    took.set(kind, times)
    times.push(performance.now() - begun)
    if (!(answer instanceof Error) && isRight(answer)) return answer
    failures.push(`${kind}: ${tell(answer)}`)
    return undefined
  }
  const post = async (path: string, form: Record<string, string>, headers: Record<string, string> = {}) =>
    read(await fetch(issuer + path, { method: 'POST', body: new URLSearchParams(form), headers }))

  const redeem = (code: string) => post('/token', { ...codeForm, client_id: publicClient.client_id, code })
  const signIn = async (): Promise<{ readonly code: string; readonly refreshToken: string } | undefined> => {
    const sentBack = ({ headers }: Answer) => new URL(headers.get('location') ?? issuer).searchParams.get('code')
    const isSentBack = (answer: Answer) => sentBack(answer) !== null
    const url = authorizeUrl(issuer, asked)
    const page = await ask('authorize', isSentBack, async () => read(await user.fetch(url)))
    const code = page && sentBack(page)
    if (!code) return undefined
    const answer = await ask('code', isOk, () => ledger.ask({ once: code, honest: true }, () => redeem(code)))
    return answer && { code, refreshToken: String(answer.body['refresh_token']) }
  }
  const prove = async (attempt = 0): Promise<void> => {
    const dpop = prover.proof(`${issuer}/token`, nonce)
    const send = () =>
      ledger.ask({ once: dpop, honest: false }, () => post('/token', machineForm, { authorization, dpop }))
    // As client libraries do: what was wrong with the nonce is put right, once.
    const wantsNonce = ({ body }: Answer) => body['error'] === 'use_dpop_nonce' && attempt === 0
    const answer = await ask('dpop', (reply) => isOk(reply) || wantsNonce(reply), send)
    if (answer === undefined) return
    nonce = answer.headers.get('dpop-nonce') ?? nonce
    if (isOk(answer)) accepted.push(send)
    else await prove(attempt + 1)
  }

  const turns: readonly { readonly requests: number; readonly take: (turn: number) => Promise<unknown> }[] = [
    {
      requests: 1,
      take: async () => {
        const answer = await ask('client_credentials', isOk, () =>
          ledger.ask({ honest: true }, () => post('/token', machineForm, { authorization })),
        )
        if (answer) accessTokens.push(String(answer.body['access_token']))
      },
    },
    {
      requests: 2,
      take: async () => {
        const signedIn = await signIn()
        if (signedIn === undefined) return
        const { code } = signedIn
        accepted.push(() => ledger.ask({ once: code, honest: false }, () => redeem(code)))
      },
    },
    {
      requests: 1,
      take: async () => {
        // A client has one request under way.
        const token = refreshTokens.shift()
        if (token === undefined) return
        const form = { grant_type: 'refresh_token', client_id: publicClient.client_id, refresh_token: token }
        const answer = await ask('refresh', isOk, () =>
          ledger.ask({ once: token, honest: true }, () => post('/token', form)),
        )
        if (answer) refreshTokens.push(String(answer.body['refresh_token']))
      },
    },
    {
      requests: 1,
      take: async (turn) => {
        const token = accessTokens[turn % accessTokens.length]
        if (token === undefined) return
        const isActive = ({ body }: Answer) => body['active'] === true
        await ask('introspection', isActive, () => post('/introspect', { token }, { authorization }))
      },
    },
    { requests: 1, take: () => prove() },
    {
      requests: 1,
      take: async (turn) => {
        const path = discoveryPaths[turn % discoveryPaths.length] ?? '/'
        // Every replica tells the same.
        const isKnown = ({ text }: Answer) => text === (documents.get(path) ?? text)
        const send = async () => read(await fetch(issuer + path))
        const answer = await ask('discovery', (reply) => isOk(reply) && isKnown(reply), send)
        if (answer) documents.set(path, answer.text)
      },
    },
  ]

  return {
    ledger,
    failures,
    took,
    sent: () => sent,
    begin: async (count) => {
      await user.authorize(authorizeUrl(issuer, asked), person)
      while (refreshTokens.length < count && failures.length === 0) {
        const signedIn = await signIn()
        if (signedIn) refreshTokens.push(signedIn.refreshToken)
      }
    },
    run: async (perSecond, until) => {
      let over = false
      const stop = () => (over = true)
      const end = until.then(stop, stop)
      const underWay = new Set<Promise<unknown>>()
      const begun = performance.now()
      for (let [planned, turn] = [0, 0]; !over;) {
        const due = ((performance.now() - begun) / 1000) * perSecond
        while (planned < due && underWay.size < abreast) {
          const { requests, take } = turns[turn % turns.length]!
          const taken = take(Math.floor(turn / turns.length)).finally(() => underWay.delete(taken))
          underWay.add(taken)
          planned += requests
          turn += 1
        }
        await after(5)
      }
      await end
      await Promise.all(underWay)
    },
    replay: async (count) => {
      for (const send of accepted.splice(0).slice(-count)) await ask('replay', ({ status }) => status === 400, send)
    },
  }
}
