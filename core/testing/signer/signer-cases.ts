import { deepEqual, equal, notEqual, ok, rejects } from 'node:assert/strict'
import { algorithms, allAlgorithms, keyTypes } from '../../jose/algorithms.js'
import { signatureLength, type JwsAlg } from '../../jose/jwk.js'
import { checkPublicJwk } from '../../jose/public-key-guard.js'
import { verifySignature } from '../../jose/verify-signature.js'
import { KeyRefused, type Signer } from '../../keys/ports.js'
import { holdsPrivateMaterial } from './private-material.js'
import type { SignerCase, SignerUnderTest } from './signer-case.js'
import { slotCases } from './slot-cases.js'

const never = new AbortController().signal
const bytes = (length: number): Uint8Array => Buffer.alloc(length, 'signet')

/** Names of keys that no backend has. */
const unknownRefs = ['no-such-key', '', '../key', '/etc/passwd', 'a\0b', 'x'.repeat(5000)]

/** Compares identity, so that a copy with the same message does not pass. */
const rejectsWith = (promise: Promise<unknown>, reason: Error): Promise<void> =>
  rejects(promise, (error) => error === reason)

/**
 * How many signatures a backend makes within a second if one takes `oneMs`. A TPM makes ten, and its deadline is not
 * a fault.
 */
const burstOf = (oneMs: number): number => Math.max(4, Math.min(64, Math.floor(1000 / oneMs)))

const open = async ({ provider, ref }: SignerUnderTest, alg: JwsAlg): Promise<Signer> =>
  provider.open(await ref(alg), alg, never)

const verifies = ({ alg, publicJwk }: Signer, message: Uint8Array, signature: Uint8Array): Promise<boolean> => {
  const { jwk, publicKey } = checkPublicJwk(publicJwk, [alg])
  return verifySignature({ alg, jwk, publicKey }, message, signature)
}

const casesOf = (alg: JwsAlg): readonly SignerCase[] => [
  {
    name: 'has a public key that passes the guard, and no other member in it',
    async run(signer) {
      const opened = await open(signer, alg)
      equal(opened.alg, alg)
      deepEqual(checkPublicJwk(opened.publicJwk, [alg]).jwk, opened.publicJwk)
      deepEqual(Object.keys(opened.publicJwk).toSorted(), keyTypes[algorithms[alg].keyType].members.toSorted())
    },
  },
  {
    name: 'signs in the JOSE form, with the length of the algorithm (RFC 7518 §3.4)',
    async run(signer) {
      const opened = await open(signer, alg)
      for (let count = 1; count <= 16; count++)
        equal((await opened.sign(bytes(count), never)).byteLength, signatureLength(alg, opened.publicJwk))
    },
  },
  {
    name: 'signs messages of 0 bytes to 256 KiB, or of the lengths that it declares',
    async run(signer) {
      const opened = await open(signer, alg)
      const { min, max } = opened.messageBytes ?? { min: 0, max: 256 * 1024 }
      for (const length of [0, 1, 63, 4096, 4097, 64 * 1024, 256 * 1024]) {
        const signing = opened.sign(bytes(length), never)
        if (length < min || length > max) {
          await rejects(signing, KeyRefused, `takes ${length} bytes`)
          continue
        }
        const signature = await signing
        ok(await verifies(opened, bytes(length), signature), `its signature of ${length} bytes does not verify`)
        ok(!(await verifies(opened, bytes(length + 1), signature)), `its signature of ${length} bytes fits others`)
      }
    },
  },
  {
    name: 'makes up to 64 signatures in parallel, each over its own message',
    async run(signer) {
      const opened = await open(signer, alg)
      const begun = performance.now()
      await opened.sign(bytes(8), never)
      const length = burstOf(performance.now() - begun)
      const messages = Array.from({ length }, (_, index) => Buffer.from(`message ${index}`))
      const signatures = await Promise.all(messages.map((message) => opened.sign(message, never)))
      for (const [index, signature] of signatures.entries())
        ok(await verifies(opened, messages[index] ?? bytes(0), signature), 'a signature is over another message')
    },
  },
  {
    name: 'rejects a signature that is aborted with the reason, before and while it waits',
    async run(signer) {
      const opened = await open(signer, alg)
      const reason = new Error('the request is over')
      await rejectsWith(opened.sign(bytes(8), AbortSignal.abort(reason)), reason)
      const controller = new AbortController()
      const outcomes = Promise.allSettled(Array.from({ length: 64 }, () => opened.sign(bytes(8), controller.signal)))
      controller.abort(reason)
      const rejected = (await outcomes).filter((outcome) => outcome.status === 'rejected')
      ok(rejected.length > 0, 'makes all 64 signatures of a request that is over')
      for (const outcome of rejected) equal(outcome.reason, reason)
      equal((await opened.sign(bytes(8), never)).byteLength, signatureLength(alg, opened.publicJwk))
    },
  },
  {
    name: 'refuses to open its key for an algorithm of another type of key',
    async run({ provider, ref }) {
      const others = allAlgorithms.filter((other) => algorithms[other].keyType !== algorithms[alg].keyType)
      for (const other of others)
        await rejects(provider.open(await ref(alg), other, never), KeyRefused, `opens it for ${other}`)
    },
  },
  {
    name: 'lets nobody reach private material from the signer or its provider',
    async run(signer) {
      ok(!holdsPrivateMaterial({ signer: await open(signer, alg), provider: signer.provider }))
    },
  },
]

const generalCases = (alg: JwsAlg): readonly SignerCase[] => [
  {
    name: 'answers a ping',
    run: ({ provider }) => provider.ping(never),
  },
  {
    name: 'says the same of its backend each time, in groups of plain values, if it says anything',
    async run({ provider }) {
      if (provider.facts === undefined) return
      const facts = await provider.facts(never)
      notEqual(Object.keys(facts).length, 0)
      for (const [group, values] of Object.entries(facts)) {
        notEqual(Object.keys(values).length, 0, `its group ${group} is empty`)
        for (const [name, value] of Object.entries(values))
          ok(['string', 'number', 'boolean'].includes(typeof value), `${group}.${name} is no plain value`)
      }
      ok(!holdsPrivateMaterial(facts))
      deepEqual(await provider.facts(never), facts)
    },
  },
  {
    name: 'makes at least one signature at a time',
    async run(signer) {
      await open(signer, alg)
      ok((signer.provider.concurrency ?? 1) >= 1)
    },
  },
  {
    name: 'refuses a key that does not exist, whatever its name is',
    async run({ provider }) {
      for (const ref of unknownRefs) await rejects(provider.open(ref, alg, never), KeyRefused)
    },
  },
  {
    name: 'opens nothing for a signal that is aborted',
    async run({ provider, ref }) {
      const reason = new Error('too late')
      await rejectsWith(provider.open(await ref(alg), alg, AbortSignal.abort(reason)), reason)
    },
  },
]

/**
 * The rules of `SignerProvider` and `Signer` for a test runner, one test per case. `algs` are the backend's
 * algorithms.
 */
export const signerCases = (algs: readonly JwsAlg[] = allAlgorithms): readonly SignerCase[] => [
  ...algs.flatMap((alg) => casesOf(alg).map((one) => ({ ...one, alg }))),
  ...algs.slice(0, 1).flatMap(generalCases),
  ...algs.slice(0, 1).flatMap(slotCases),
]
