import { expect } from 'vitest'
import { noLog } from '../../../core/observe/log.js'
import { createDevice, withAttestation, type AttestationAnswer, type DeviceOptions } from '../clients/attestation.js'
import { doubleOf } from './attestation-double/index.js'
import { startTokenServer, type TokenServerOptions } from './token-server.js'

type Json = Record<string, unknown>

/** The named errors (docs/design/decisions.md#8-attestation). */
const named = {
  InvalidRequest: [400, 'invalid_request'],
  BadJwk: [400, 'invalid_request'],
  BadAlg: [400, 'invalid_request'],
  ApprovalPending: [400, 'authorization_pending'],
  EvidenceRequired: [400, 'invalid_request'],
  SecondFactorFailed: [401, 'invalid_grant'],
  InvalidChallenge: [401, 'invalid_grant'],
  ChallengeSignatureInvalid: [401, 'invalid_grant'],
  EvidenceInvalid: [401, 'invalid_grant'],
  AttestationInvalid: [401, 'invalid_grant'],
  KeyNotBound: [401, 'invalid_grant'],
  ReenrolmentRequired: [401, 'invalid_grant'],
  PrincipalRevoked: [403, 'access_denied'],
  AttributesDenied: [403, 'access_denied'],
  RateLimited: [429, 'temporarily_unavailable'],
  Unavailable: [503, 'temporarily_unavailable'],
} as const

export type NamedError = keyof typeof named

const trace = /node_modules|\.[jt]s:\d+|\bat (?:async )?[\w.<>]+ \(|node:internal|ZodError|lmdb|plugin/i

/** What every refusal of the ceremony has in common. */
export const expectNamed = (answer: AttestationAnswer, name: NamedError, status: number = named[name][0]): void => {
  const { error, error_code } = answer.body
  expect({ status: answer.status, error, error_code }).toEqual({ status, error: named[name][1], error_code: name })
  expect(Object.keys(answer.body)).toEqual(['error', 'error_description', 'error_code'])
  expectUncached(answer)
  expect(answer.text).not.toMatch(trace)
  if (status === 429 || status === 503) expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
}

/** No cache keeps an answer, no other origin reads it, and no cookie comes of it. */
export const expectUncached = ({ headers }: AttestationAnswer): void => {
  expect(headers.get('cache-control')).toBe('no-store')
  expect(headers.get('x-request-id')).toMatch(/^[0-9a-f]{32}$/)
  for (const name of ['access-control-allow-origin', 'set-cookie', 'etag', 'server', 'x-powered-by'])
    expect(headers.get(name)).toBeNull()
}

const unlimited = {
  address_per_minute: 1_000_000,
  key_per_minute: 1_000_000,
  subject_per_minute: 1_000_000,
  principal_free: 1000,
}

export interface AttestationServerOptions extends TokenServerOptions {
  readonly section?: Json
  /** Loads the status provider of the double. */
  readonly status?: boolean
  /** Loads the evidence of the double, kind `chip`. */
  readonly evidence?: boolean
  readonly limits?: Json
}

/** Outages are what these servers are put through: they are not shown. */

let servers = 0

/** The running product with the ceremony, whose second factor and status provider a test holds in its hand. */
export const startAttestationServer = async (options: AttestationServerOptions = {}) => {
  const {
    section = {},
    status = false,
    evidence = false,
    limits = unlimited,
    configure = (written: Json) => written,
    ...rest
  } = options
  const name = `server-${String(servers++)}`
  const double = doubleOf(name)
  const host = await startTokenServer({
    log: noLog,
    ...rest,
    configure: (written) =>
      configure({
        ...withAttestation(section, { name, status, evidence })(written),
        trusted_proxies: [],
        rate_limits: { attestation: limits },
      }),
  })
  const { issuer } = host.server
  return {
    host,
    issuer,
    double,
    device: (wishes: DeviceOptions = {}, keys?: CryptoKeyPair) => createDevice(issuer, wishes, keys),
    /** A good ceremony, renewal and all. */
    async expectGood(): Promise<void> {
      const device = await createDevice(issuer, { subject: 'good', principal_id: 'good-1' })
      await device.renew(await device.attest())
    },
    /** The named errors of the audit log, as often as they were answered. Those that share a line are there after a second. */
    async refusals(): Promise<unknown[]> {
      const lines = (await host.server.audit()).filter(({ event }) => event === 'attestation.refused')
      return lines.flatMap(({ error_code, count }) => Array<unknown>(Number(count ?? 1)).fill(error_code))
    },
    [Symbol.asyncDispose]: () => host[Symbol.asyncDispose](),
  }
}

export type AttestationServer = Awaited<ReturnType<typeof startAttestationServer>>
