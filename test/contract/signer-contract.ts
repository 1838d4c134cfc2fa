import { KeyObject } from 'node:crypto'
import { inspect } from 'node:util'
import { compactVerify, importJWK } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { allAlgorithms, algorithms } from '../../core/jose/algorithms.js'
import { signatureLength, type JwsAlg } from '../../core/jose/jwk.js'
import { KeyRefused, type Signer, type SignerProvider } from '../../core/keys/ports.js'
import { checkPublicJwk } from '../../core/jose/public-key-guard.js'
import { verifySignature } from '../../core/jose/verify-signature.js'
import { serialize, signingInput } from '../../core/tokens/compact-serializer.js'

/** What the suite needs of a backend: a provider, and a key in it for each algorithm that it can. */
export interface SignerBackend extends AsyncDisposable {
  readonly provider: SignerProvider
  /** The `ref` of a key for this algorithm. */
  ref(alg: JwsAlg): Promise<string>
}

const never = new AbortController().signal
const bytes = (length: number): Uint8Array => Buffer.alloc(length, 'signet')

/** Every object that can be reached from here by any property, symbol, prototype or hidden entry. */
const reachable = (root: object): Set<object> => {
  const seen = new Set<object>([root])
  for (const object of seen) {
    const names = Reflect.ownKeys(object)
    const values = names.map((name) => Reflect.getOwnPropertyDescriptor(object, name)?.value as unknown)
    for (const value of [...values, Reflect.getPrototypeOf(object)])
      if ((typeof value === 'object' || typeof value === 'function') && value !== null && value !== globalThis)
        seen.add(value)
  }
  return seen
}

/** The contract of `SignerProvider` and `Signer`: a signer is done when it passes. */
export const signerContract = (
  name: string,
  openBackend: () => Promise<SignerBackend>,
  supported: readonly JwsAlg[] = allAlgorithms,
): void => {
  describe(`signer contract: ${name}`, () => {
    let backend: SignerBackend
    beforeAll(async () => {
      backend = await openBackend()
    })
    afterAll(() => backend[Symbol.asyncDispose]())

    const open = async (alg: JwsAlg): Promise<Signer> => backend.provider.open(await backend.ref(alg), alg, never)

    it('answers a ping', async () => {
      await expect(backend.provider.ping(never)).resolves.toBeUndefined()
    })

    it.each(supported)('%s: signs what jose verifies with the published key', async (alg) => {
      const signer = await open(alg)
      expect(signer.alg).toBe(alg)
      const input = signingInput({ alg, kid: 'k1', typ: 'at+jwt' }, { iss: 'https://id.example', sub: 'ünïcode' })
      const token = serialize(input, await signer.sign(Buffer.from(input), never))
      const verified = await compactVerify(token, await importJWK(signer.publicJwk, alg), { algorithms: [alg] })
      expect(verified.protectedHeader).toEqual({ alg, kid: 'k1', typ: 'at+jwt' })
      expect(JSON.parse(new TextDecoder().decode(verified.payload))).toEqual({
        iss: 'https://id.example',
        sub: 'ünïcode',
      })
    })

    it('signs at least one thing at a time', async () => {
      for (const alg of supported.slice(0, 1)) await open(alg)
      expect(backend.provider.concurrency ?? 1).toBeGreaterThanOrEqual(1)
    })

    it.each(supported)('%s: the public key passes the guard and is nothing but public', async (alg) => {
      const { publicJwk } = await open(alg)
      expect(checkPublicJwk(publicJwk, [alg]).jwk).toEqual(publicJwk)
      expect(Object.keys(publicJwk).sort()).toEqual([...memberNames(alg)].sort())
    })

    it.each(supported)('%s: signatures have the JOSE form and length (RFC 7518 §3.4)', async (alg) => {
      const signer = await open(alg)
      const lengths = new Set<number>()
      for (let count = 1; count <= 16; count++) lengths.add((await signer.sign(bytes(count), never)).byteLength)
      expect([...lengths]).toEqual([signatureLength(alg, signer.publicJwk)])
    })

    it.each(supported)('%s: signs messages of 0 bytes to 64 KiB, or of the lengths that it declares', async (alg) => {
      const signer = await open(alg)
      const { publicKey } = checkPublicJwk(signer.publicJwk, [alg])
      const key = { alg, jwk: signer.publicJwk, publicKey }
      const { min, max } = signer.messageBytes ?? { min: 0, max: 64 * 1024 }
      for (const length of [0, 1, 63, 4096, 4097, 64 * 1024]) {
        if (length < min || length > max) {
          await expect(signer.sign(bytes(length), never), `${length} bytes`).rejects.toBeInstanceOf(KeyRefused)
          continue
        }
        const signature = await signer.sign(bytes(length), never)
        expect(await verifySignature(key, bytes(length), signature), `${length} bytes`).toBe(true)
        expect(await verifySignature(key, bytes(length + 1), signature), `not ${length} bytes`).toBe(false)
      }
    })

    it.each(supported)('%s: 64 in parallel, each over its own message', async (alg) => {
      const signer = await open(alg)
      const { publicKey } = checkPublicJwk(signer.publicJwk, [alg])
      const messages = Array.from({ length: 64 }, (_, index) => Buffer.from(`message ${index}`))
      const signatures = await Promise.all(messages.map((message) => signer.sign(message, never)))
      const key = { alg, jwk: signer.publicJwk, publicKey }
      const valid = await Promise.all(
        messages.map((message, index) => verifySignature(key, message, signatures[index] ?? new Uint8Array())),
      )
      expect(valid).toEqual(messages.map(() => true))
    })

    it.each(supported)(
      '%s: an aborted signature is rejected with the reason, before and while it waits',
      async (alg) => {
        const signer = await open(alg)
        const reason = new Error('the request is over')
        await expect(signer.sign(bytes(8), AbortSignal.abort(reason))).rejects.toBe(reason)
        const controller = new AbortController()
        const waiting = Array.from({ length: 64 }, () => signer.sign(bytes(8), controller.signal))
        const outcomes = Promise.allSettled(waiting)
        controller.abort(reason)
        const rejected = (await outcomes).filter((outcome) => outcome.status === 'rejected')
        expect(rejected.length).toBeGreaterThan(0)
        expect(rejected.every((outcome) => outcome.reason === reason)).toBe(true)
        // What was aborted leaves nothing behind.
        expect((await signer.sign(bytes(8), never)).byteLength).toBe(signatureLength(alg, signer.publicJwk))
      },
    )

    it.each(supported)('%s: a key that cannot sign another algorithm is refused when it is opened', async (alg) => {
      const ref = await backend.ref(alg)
      const others = allAlgorithms.filter((other) => algorithms[other].keyType !== algorithms[alg].keyType)
      for (const other of others)
        await expect(backend.provider.open(ref, other, never), other).rejects.toBeInstanceOf(KeyRefused)
    })

    it('a key that is not there is refused, whatever its name', async () => {
      const alg = supported[0] ?? 'ES256'
      for (const ref of ['no-such-key', '', '../key', '/etc/passwd', 'a\0b', 'x'.repeat(5000)])
        await expect(backend.provider.open(ref, alg, never), ref.slice(0, 20)).rejects.toBeInstanceOf(KeyRefused)
    })

    it('opens nothing for a signal that is aborted', async () => {
      const alg = supported[0] ?? 'ES256'
      const reason = new Error('too late')
      await expect(backend.provider.open(await backend.ref(alg), alg, AbortSignal.abort(reason))).rejects.toBe(reason)
    })

    it.each(supported)('%s: no private material can be reached from the signer or its provider', async (alg) => {
      const signer = await open(alg)
      const shown = inspect([signer, backend.provider], { showHidden: true, depth: null, showProxy: true })
      expect(shown).not.toMatch(/PRIVATE|PrivateKeyObject|SecretKeyObject/)
      expect(JSON.stringify(signer)).not.toMatch(/"(d|p|q|dp|dq|qi|k|priv)":/)
      for (const object of reachable({ signer, provider: backend.provider })) {
        expect(object instanceof KeyObject && object.type !== 'public').toBe(false)
        expect(object instanceof CryptoKey && object.type !== 'public').toBe(false)
        for (const secret of ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k', 'priv'])
          expect(Object.hasOwn(object, secret) && Object.hasOwn(object, 'kty'), secret).toBe(false)
      }
    })
  })
}

const memberNames = (alg: JwsAlg): readonly string[] => {
  const { keyType } = algorithms[alg]
  if (keyType === 'RSA') return ['kty', 'n', 'e']
  return keyType === 'Ed25519' ? ['kty', 'crv', 'x'] : ['kty', 'crv', 'x', 'y']
}
