import { randomUUID } from 'node:crypto'
import { setMaxListeners } from 'node:events'
import { keyPurposes } from '../../../config/keys.js'
import { openKeyRing, type KeyConfiguration, type KeyRingOptions } from '../../../core/keys/key-ring.js'
import type { KeyPurpose, MadeSignature, SigningRequest } from '../../../core/keys/ports.js'
import { verifySignature } from '../../../core/jose/verify-signature.js'
import type { AuditEvent } from '../../../core/observe/audit.js'
import { signingInput } from '../../../core/tokens/compact-serializer.js'
import { noLog } from '../../../core/observe/log.js'
import { chaosNamed, type Chaos } from './chaos-signer/commands.js'
import chaosSigner from './chaos-signer/index.js'

export const never = new AbortController().signal
setMaxListeners(0, never)

/** A ring whose keys `a1`, `a2`, `b1` are in the hands of the chaos signers `a` and `b`. */
export const openChaosRing = async (
  kids: readonly string[],
  { purposes, ...options }: Partial<KeyRingOptions> & { readonly purposes?: Record<string, KeyPurpose[]> } = {},
) => {
  const run = randomUUID()
  const names = [...new Set(kids.map((kid) => kid.slice(0, 1)))]
  const chaos = new Map<string, Chaos>(names.map((name) => [name, chaosNamed(`${run}-${name}`)]))
  const services = { clock: Date.now, log: noLog }
  const providers = new Map(
    await Promise.all(
      names.map(async (name) => [name, await chaosSigner.create({ name: `${run}-${name}` }, services)] as const),
    ),
  )
  const events: AuditEvent[] = []
  const keys = kids.map((kid): KeyConfiguration => ({
    kid,
    alg: 'ES256',
    signer: kid.slice(0, 1),
    ref: kid,
    purposes: purposes?.[kid] ?? keyPurposes,
  }))
  const open = () =>
    openKeyRing({
      keys,
      providers,
      clock: Date.now,
      retentionSeconds: () => 610,
      cacheSeconds: 3600,
      signal: never,
      audit: {
        record: (...recorded) => {
          events.push(...recorded)
          return Promise.resolve()
        },
      },
      ...options,
    })
  const get = (name: string): Chaos => chaos.get(name) as Chaos
  return { open, events, chaos: get }
}

let count = 0

/** What the issuer asks for. */
export const order = (more: Partial<SigningRequest> = {}): SigningRequest => ({
  purpose: 'access_token',
  alg: 'ES256',
  priority: 'machine',
  clientId: 'client',
  input: (key) => signingInput({ ...key, typ: 'at+jwt' }, { jti: `${++count}` }),
  signal: never,
  ...more,
})

type Ring = Awaited<ReturnType<typeof openKeyRing>>

/** As a relying party has it: the published key that the header names. */
export const verifies = async (ring: Ring, { input, signature }: MadeSignature): Promise<boolean> => {
  const { kid } = JSON.parse(Buffer.from(input.split('.')[0] ?? '', 'base64url').toString()) as { kid: string }
  const key = ring.publishedKey(kid)
  return key !== undefined && verifySignature(key, Buffer.from(input), signature)
}

export const keyReport = (ring: Ring, kid: string) => {
  const found = ring.report().keys.find((key) => key.kid === kid)
  if (found === undefined) throw new Error(`no key ${kid}`)
  return found
}

export const circuitOf = (ring: Ring, name: string) => ring.report().signers.find((one) => one.name === name)?.circuit
