import { randomBytes, webcrypto, X509Certificate } from 'node:crypto'
import { AsnConvert } from '@peculiar/asn1-schema'
import { SubjectAlternativeName } from '@peculiar/asn1-x509'
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { createCertificateChains, maxCertificates } from '../../core/certificates/certificate-chains.js'
import { createClientCertificates } from '../../core/certificates/client-certificates.js'
import {
  createCertificateAuthority,
  createCertificateKeys,
  type CertificateAuthority,
  type CertificateKeys,
  type IssuedCertificate,
} from '../support/forge/certificates.js'

// What a chain may cost before anybody is known. Verified signatures and read certificates are counted, not timed.

const offered = maxCertificates - 1
const times = <T>(count: number, make: () => Promise<T>) => Promise.all(Array.from({ length: count }, make))

let root: CertificateAuthority
let p521: CertificateKeys
beforeAll(async () => {
  root = await createCertificateAuthority()
  p521 = await createCertificateKeys('ES512')
})
afterEach(() => void vi.restoreAllMocks())

interface Door {
  faultOf(leaf: IssuedCertificate, ...chain: readonly IssuedCertificate[]): string | undefined
}

let now = Date.now()
const clock = () => now

/** Both doors to a chain: that of mutual TLS, and that of `x5c`. */
const doors: readonly (readonly [string, (anchors: readonly IssuedCertificate[]) => Door])[] = [
  [
    'mutual TLS',
    (anchors) => {
      const trustAnchors = anchors.map(({ pem }) => pem)
      const certificates = createClientCertificates({ trustAnchors, intermediates: [], verifiedByProxy: false, clock })
      return { faultOf: (leaf, ...chain) => certificates.findFault(leaf.shown(...chain)) }
    },
  ],
  [
    'x5c',
    (anchors) => {
      const chains = createCertificateChains({ trustAnchors: anchors.map(({ pem }) => pem), clock })
      return {
        faultOf(...chain) {
          const checked = chains.check(chain.map(({ der }) => der))
          return checked.ok ? undefined : checked.reason
        },
      }
    },
  ],
]

/** An RSA key that nobody can sign by: nothing asks whether its modulus is the product of two primes. */
const rsaKeys = async (bits: number, exponent: string): Promise<CertificateKeys> => {
  const n = randomBytes(bits / 8)
  n[0] = (n[0] as number) | 0x80
  n[n.length - 1] = (n.at(-1) as number) | 1
  const algorithm = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' }
  const jwk = { kty: 'RSA', n: n.toString('base64url'), e: exponent }
  const { privateKey } = await createCertificateKeys()
  return { publicKey: await webcrypto.subtle.importKey('jwk', jwk, algorithm, true, ['verify']), privateKey }
}

const f4 = 'AQAB'

describe.each(doors)('a chain of %s', (_door, trusting) => {
  const verifications = () => vi.spyOn(X509Certificate.prototype, 'verify')

  it('is not verified at all if no name leads to an anchor', async () => {
    const subject = [{ CN: ['X'] }]
    const forks = await times(offered, () => createCertificateAuthority({ subject, keys: p521 }))
    const leaf = await (forks[0] as CertificateAuthority).issue()
    const verify = verifications()
    expect(trusting([root]).faultOf(leaf, ...forks)).toBe('no trust anchor has issued it')
    expect(verify).not.toHaveBeenCalled()
  })

  it('is verified from the anchor down: no key that was sent verifies anything', async () => {
    const forks = await times(offered, () => createCertificateAuthority())
    const leaf = await (forks[0] as CertificateAuthority).issue()
    const verify = verifications()
    expect(trusting([root]).faultOf(leaf, ...forks)).toBe('no trust anchor has issued it')
    expect(verify.mock.calls.length).toBeLessThanOrEqual(8)
    const anchor = new X509Certificate(root.der).publicKey
    expect(verify.mock.calls.every(([key]) => key.equals(anchor))).toBe(true)
  })

  it('costs one verification for all authorities with the same name and key', async () => {
    const twins = await times(offered, () => createCertificateAuthority({ keys: p521 }))
    const leaf = await (twins[0] as CertificateAuthority).issue()
    const verify = verifications()
    expect(trusting([root]).faultOf(leaf, ...twins)).toBe('no trust anchor has issued it')
    // The leaf, and the first of them.
    expect(verify).toHaveBeenCalledTimes(2)
  })

  it('costs at most eight verifications, also under an authority that an anchor issued', async () => {
    const middle = await root.intermediate({ subject: [{ CN: ['Test CA'] }] })
    const twins = await times(offered - 1, () => createCertificateAuthority())
    const leaf = await (twins[0] as CertificateAuthority).issue()
    const verify = verifications()
    expect(trusting([root]).faultOf(leaf, ...twins, middle)).toBe('no trust anchor has issued it')
    expect(verify.mock.calls.length).toBeLessThanOrEqual(8)
  })

  it.each<[string, () => Promise<CertificateKeys>]>([
    ['P-521', async () => p521],
    ['RSA of 8192 bits', () => rsaKeys(8192, f4)],
    ['RSA of 4104 bits', () => rsaKeys(4104, f4)],
    ['an exponent of 64 bits', () => rsaKeys(2048, '__________8')],
    ['an exponent of 3', () => rsaKeys(2048, 'Aw')],
  ])('with a key of %s is refused before that key verifies anything', async (_kind, make) => {
    const keys = await make()
    const verify = verifications()
    const asLeaf = await root.issue({ keys })
    expect(trusting([root]).faultOf(asLeaf)).toBe('a key is of a kind that is not accepted')
    expect(verify).not.toHaveBeenCalled()
    const strange = await root.intermediate({ keys })
    // Issued by another key of the same name and type, so that the name leads to it.
    const type = keys.publicKey.algorithm.name === 'ECDSA' ? 'ES256' : 'RS256'
    const below = await (await root.intermediate({ keys: await createCertificateKeys(type) })).issue()
    expect(trusting([root]).faultOf(below, strange)).toBe('a key is of a kind that is not accepted')
    const strangeKey = new X509Certificate(strange.der).publicKey
    expect(verify.mock.calls.some(([key]) => key.equals(strangeKey))).toBe(false)
  })

  it('may have the same kind of key as an anchor', async () => {
    const large = await createCertificateAuthority({ keys: p521 })
    const leaf = await large.issue({ keys: await createCertificateKeys('ES512') })
    expect(trusting([large]).faultOf(leaf)).toBeUndefined()
    expect(trusting([root, large]).faultOf(await root.issue({ keys: p521 }))).toBeUndefined()
  })

  it('is not read when it has more elements than a certificate needs', async () => {
    const san = Array.from({ length: 1000 }, () => ({ type: 'dns', value: 'a' }) as const)
    const subject = Array.from({ length: 100 }, () => ({ O: ['a'] }))
    for (const request of [{ san }, { subject }]) {
      const leaf = await root.issue(request)
      const parse = vi.spyOn(AsnConvert, 'parse')
      expect(trusting([root]).faultOf(leaf)).toMatch(/does not parse$/)
      expect(parse.mock.calls.some(([, type]) => type === SubjectAlternativeName)).toBe(false)
      parse.mockRestore()
    }
  })

  it('with a hundred names is parsed', async () => {
    const san = Array.from(
      { length: 100 },
      (_, index) => ({ type: 'dns', value: `h${String(index)}.example` }) as const,
    )
    expect(trusting([root]).faultOf(await root.issue({ san }))).toBeUndefined()
  })

  it('is parsed only as far as an authority has signed it', async () => {
    const twins = await times(offered, () => createCertificateAuthority())
    const leaf = await (twins[0] as CertificateAuthority).issue()
    const alone = await (await createCertificateAuthority()).issue()
    const door = trusting([root])
    const parse = vi.spyOn(AsnConvert, 'parse')
    door.faultOf(alone)
    const ofLeaf = parse.mock.calls.length
    parse.mockClear()
    door.faultOf(leaf, ...twins)
    expect(parse).toHaveBeenCalledTimes(ofLeaf)
  })

  it('that was refused is refused from memory for a minute, without affecting other chains', async () => {
    const other = await createCertificateAuthority()
    const leaf = await other.issue()
    const door = trusting([root])
    const verify = verifications()
    const untrusted = 'no trust anchor has issued it'
    expect(door.faultOf(leaf, other)).toBe(untrusted)
    const once = verify.mock.calls.length
    expect(once).toBeGreaterThan(0)
    expect(door.faultOf(leaf, other)).toBe(untrusted)
    expect(verify).toHaveBeenCalledTimes(once)
    expect(door.faultOf(leaf)).toBe(untrusted)
    expect(verify.mock.calls.length).toBeGreaterThan(once)
    verify.mockClear()
    now += 61_000
    expect(door.faultOf(leaf, other)).toBe(untrusted)
    expect(verify).toHaveBeenCalledTimes(once)
  })

  it('that is not yet valid is not remembered as refused', async () => {
    const leaf = await root.issue({ notBefore: new Date(Math.ceil(now / 1000) * 1000 + 5000) })
    const door = trusting([root])
    expect(door.faultOf(leaf)).toBe('it is not yet valid')
    now += 10_000
    expect(door.faultOf(leaf)).toBeUndefined()
  })

  it('leads to the anchor through a renewed authority', async () => {
    const keys = await createCertificateKeys()
    const old = await root.intermediate({ keys, notAfter: new Date(now - 60_000) })
    const renewed = await root.intermediate({ keys })
    expect(trusting([root]).faultOf(await renewed.issue(), old, renewed)).toBeUndefined()
    const short = await root.intermediate({ keys, ca: { pathLength: 0 } })
    const below = await renewed.intermediate({ subject: [{ CN: ['Below CA'] }] })
    expect(trusting([root]).faultOf(await below.issue(), short, below, renewed)).toBeUndefined()
  })
})
