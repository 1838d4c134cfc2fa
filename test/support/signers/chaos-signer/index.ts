import { generateKeyPairSync, sign, type KeyObject } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { z } from 'zod'
import {
  algorithms,
  checkPublicJwk,
  defineSigner,
  keyInput,
  KeyRefused,
  keyTypes,
  Unavailable,
  type JwsAlg,
  type Signer,
  type SignerProvider,
} from '../../../../core/api/signer.js'
import { chaosNamed, type ChaosCommand } from './commands.js'

const component = 'signers.chaos'

const generate = (alg: JwsAlg): KeyObject => {
  const { node } = keyTypes[algorithms[alg].keyType]
  if (node.type === 'rsa') return generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
  if (node.type === 'ed25519') return generateKeyPairSync('ed25519').privateKey
  return generateKeyPairSync('ec', { namedCurve: node.namedCurve ?? '' }).privateKey
}

/** Rejects with the signal's reason when it is aborted. */
const untilAborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    const abandon = (): void => reject(signal.reason as Error)
    if (signal.aborted) abandon()
    signal.addEventListener('abort', abandon, { once: true })
  })

const flipBit = (signature: Buffer): Buffer => {
  const flipped = Buffer.from(signature)
  const at = Math.floor(Math.random() * flipped.length)
  flipped[at] = (flipped[at] ?? 0) ^ (1 << Math.floor(Math.random() * 8))
  return flipped
}

/**
 * A double of a signer, for tests alone: keys that live in memory, in the hands of somebody who misbehaves on command.
 * It is none that holds its keys `inProcess`, so the service treats it as an HSM or a KMS.
 */
export default defineSigner<{ readonly name: string }>({
  name: 'chaos-signer (a double)',
  apiVersion: 1,
  /** `name`: by which the test commands it. */
  options: z.strictObject({ name: z.string() }),
  create({ name }): SignerProvider {
    const chaos = chaosNamed(name)

    const openSigner = (ref: string, alg: JwsAlg): Signer => {
      const key = chaos.keys.get(ref) ?? generate(alg)
      chaos.keys.set(ref, key)
      const { digest } = algorithms[alg]
      const { kty, crv, x, y, n, e } = key.export({ format: 'jwk' })
      const { jwk } = checkPublicJwk(JSON.parse(JSON.stringify({ kty, crv, x, y, n, e })), [alg])
      const right = (message: Uint8Array): Buffer => sign(digest, message, keyInput(alg, key))

      const faults: Record<
        ChaosCommand['fault'],
        (message: Uint8Array, signal: AbortSignal) => Uint8Array | Promise<Uint8Array>
      > = {
        none: right,
        throttle: () => Promise.reject(new Unavailable(component, 'no', 'ThrottlingException')),
        refuse: () => Promise.reject(new KeyRefused('AccessDeniedException')),
        crash: () => Promise.reject(new TypeError('socket hang up')),
        hang: (_, signal) => untilAborted(signal),
        deaf: () => new Promise(() => undefined),
        wrong_key: (message) => sign(digest, message, keyInput(alg, generate(alg))),
        flip: (message) => flipBit(right(message)),
        truncate: (message) => right(message).subarray(0, -1),
        der: (message) => sign(digest, message, key),
      }

      return {
        alg,
        publicJwk: jwk,
        async sign(message, signal, trace) {
          signal.throwIfAborted()
          const call = ++chaos.calls
          if (trace !== undefined) trace.reference = `${name}-${call}`
          await chaos.gate
          const { fault, everyNth, latencyMs, forRef } = chaos.command
          if (latencyMs > 0) await pause(latencyMs, undefined, { signal }).catch(() => signal.throwIfAborted())
          const struck = (forRef === undefined || forRef === ref) && call % everyNth === 0
          if (struck && fault !== 'none') chaos.struck++
          return faults[struck ? fault : 'none'](message, signal)
        },
      }
    }

    return {
      get concurrency() {
        return chaos.concurrency
      },
      async open(ref, alg, signal) {
        signal.throwIfAborted()
        chaos.opened++
        if (chaos.command.opening === 'down') throw new Unavailable(component, 'no', 'connect ECONNREFUSED')
        if (chaos.command.opening === 'refused') throw new KeyRefused(`${ref} is pending deletion`)
        return openSigner(ref, alg)
      },
      async ping(signal) {
        signal.throwIfAborted()
        if (chaos.command.opening === 'down') throw new Unavailable(component, 'no', 'connect ECONNREFUSED')
      },
      [Symbol.asyncDispose]: () => Promise.resolve(),
    }
  },
})
