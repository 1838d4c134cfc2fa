import { beforeAll, describe, expect, it } from 'vitest'
import { createClientCertificates } from '../../core/certificates/client-certificates.js'
import {
  createCertificateAuthority,
  createCertificateKeys,
  serverAuth,
  x509,
  type CertificateAuthority,
  type IssuedCertificate,
} from '../support/forge/certificates.js'

const day = 86_400_000
const ago = (days: number) => new Date(Date.now() - days * day)

let root: CertificateAuthority
let middle: CertificateAuthority
beforeAll(async () => {
  root = await createCertificateAuthority()
  middle = await root.intermediate()
})

const trusting = (anchors: readonly IssuedCertificate[] = [root], intermediates: readonly IssuedCertificate[] = []) =>
  createClientCertificates({
    trustAnchors: anchors.map(({ pem }) => pem),
    intermediates: intermediates.map(({ pem }) => pem),
    verifiedByProxy: false,
    clock: Date.now,
  })

const faultOf = (leaf: IssuedCertificate, ...chain: readonly IssuedCertificate[]) =>
  trusting().findFault(leaf.shown(...chain))

describe('a certificate is trusted', () => {
  it('that an anchor has issued', async () => {
    expect(faultOf(await root.issue())).toBeUndefined()
  })
  it('with the intermediates that are sent along, in any order', async () => {
    const low = await middle.intermediate({ subject: [{ CN: ['Low CA'] }] })
    const leaf = await low.issue()
    expect(faultOf(leaf, low, middle)).toBeUndefined()
    expect(faultOf(leaf, root, middle, low)).toBeUndefined()
  })
  it('with intermediates that the deployment configures', async () => {
    expect(trusting([root], [middle]).findFault((await middle.issue()).shown())).toBeUndefined()
  })
  it('under an anchor that is an intermediate itself', async () => {
    expect(trusting([middle]).findFault((await middle.issue()).shown())).toBeUndefined()
  })
  it('of each kind of key', async () => {
    for (const alg of ['ES256', 'RS256', 'EdDSA'] as const)
      expect(faultOf(await root.issue({ keys: await createCertificateKeys(alg) }))).toBeUndefined()
  })
  it('signed by RSASSA-PSS with SHA-256', async () => {
    const strong = await createCertificateAuthority({ keys: await createCertificateKeys('PS256') })
    expect(trusting([strong]).findFault((await strong.issue()).shown())).toBeUndefined()
  })
  it('under an anchor that is self-signed with SHA-1, because that signature is not checked', async () => {
    const old = await createCertificateAuthority({ hash: 'SHA-1' })
    expect(trusting([old]).findFault((await old.issue()).shown())).toBeUndefined()
  })
  it('by the first eight that are sent along, none of them longer than 16 KiB', async () => {
    const leaf = await middle.issue()
    const others = await Promise.all(Array.from({ length: 8 }, () => root.issue()))
    expect(faultOf(leaf, ...others.slice(1), middle)).toBeUndefined()
    expect(faultOf(leaf, ...others, middle)).toBe('no trust anchor has issued it')
    const more = [new x509.Extension('1.2.3.4', false, new Uint8Array([4, 0x82, 0x40, 0, ...new Uint8Array(16_384)]))]
    const long = await root.intermediate({ more })
    expect(faultOf(await long.issue(), long)).toBe('no trust anchor has issued it')
  })
  it('under a root that was re-certified with the same key', async () => {
    const again = await createCertificateAuthority({ keys: root.keys, notAfter: new Date(Date.now() + 30 * day) })
    expect(trusting([again]).findFault((await root.issue()).shown())).toBeUndefined()
  })
  it('again when the chain is not sent', async () => {
    const certificates = trusting()
    const leaf = await middle.issue()
    expect(certificates.findFault(leaf.shown(middle))).toBeUndefined()
    expect(certificates.findFault(leaf.shown())).toBeUndefined()
  })
  it('until it expires, also when cached', async () => {
    let now = Date.now()
    const certificates = createClientCertificates({
      ...{ trustAnchors: [root.pem], intermediates: [], verifiedByProxy: false },
      clock: () => now,
    })
    const leaf = (await root.issue({ notAfter: new Date(now + day) })).shown()
    expect(certificates.findFault(leaf)).toBeUndefined()
    now += 2 * day
    expect(certificates.findFault(leaf)).toBe('it has expired')
    now -= 4 * day
    expect(certificates.findFault(leaf)).toBe('it is not yet valid')
  })
  it('that the proxy has verified, whatever its issuer', async () => {
    const other = await createCertificateAuthority()
    const certificates = createClientCertificates({
      ...{ trustAnchors: [], intermediates: [], clock: Date.now },
      verifiedByProxy: true,
    })
    expect(certificates.findFault((await other.issue()).shown())).toBeUndefined()
  })
})

describe('MT20 a certificate is not trusted', () => {
  it.each<[string, () => Promise<IssuedCertificate>, string]>([
    ['that has expired', () => root.issue({ notBefore: ago(9), notAfter: ago(1) }), 'it has expired'],
    ['that is not yet valid', () => root.issue({ notBefore: ago(-1) }), 'it is not yet valid'],
    ['for servers', () => root.issue({ eku: [serverAuth] }), 'it is not for client authentication'],
    ['for nothing that it names', () => root.issue({ eku: null }), 'it is not for client authentication'],
    ['for any use', () => root.issue({ eku: ['2.5.29.37.0'] }), 'it is not for client authentication'],
    [
      'whose key may not sign',
      () => root.issue({ keyUsage: x509.KeyUsageFlags.keyEncipherment }),
      'its key may not sign',
    ],
    ['of an authority', () => root.issue({ ca: true }), 'it is the certificate of an authority'],
    ['that is the anchor', async () => root, 'it is the certificate of an authority'],
    ['without its intermediate', () => middle.issue(), 'no trust anchor has issued it'],
    ['of an unknown root', async () => (await createCertificateAuthority()).issue(), 'no trust anchor has issued it'],
    [
      'with an RSA key of 1024 bits',
      async () => root.issue({ keys: await createCertificateKeys('RSA1024') }),
      'a key is too weak',
    ],
    ['signed with SHA-1', () => root.issue({ hash: 'SHA-1' }), 'a signature is too weak'],
    [
      'signed by RSASSA-PSS with SHA-1',
      async () =>
        (await createCertificateAuthority({ keys: await createCertificateKeys('PS1') })).issue({ hash: 'SHA-1' }),
      'a signature is too weak',
    ],
    [
      'with a critical extension that nobody knows',
      () => root.issue({ more: [new x509.Extension('1.2.3.4', true, new Uint8Array([5, 0]))] }),
      'an extension is not understood: 1.2.3.4',
    ],
  ])('%s', async (_what, make, fault) => {
    expect(faultOf(await make())).toBe(fault)
  })

  it('of another root with the name of the anchor', async () => {
    const namesake = await createCertificateAuthority()
    expect(faultOf(await namesake.issue(), namesake)).toBe('no trust anchor has issued it')
  })

  it.each<[string, () => Promise<[IssuedCertificate, ...IssuedCertificate[]]>, string]>([
    [
      'an authority that is signed with SHA-1',
      async () => {
        const weak = await root.intermediate({ hash: 'SHA-1' })
        return [await weak.issue(), weak]
      },
      'a signature is too weak',
    ],
    [
      'an authority that has expired',
      async () => {
        const old = await root.intermediate({ notBefore: ago(9), notAfter: ago(1) })
        return [await old.issue(), old]
      },
      'it has expired',
    ],
    [
      'an authority whose key may not sign certificates',
      async () => {
        const weak = await root.intermediate({ keyUsage: x509.KeyUsageFlags.digitalSignature })
        return [await weak.issue(), weak]
      },
      'no trust anchor has issued it',
    ],
    [
      'an authority for servers',
      async () => {
        const servers = await root.intermediate({ eku: [serverAuth] })
        return [await servers.issue(), servers]
      },
      'an authority is not for client authentication',
    ],
    [
      'an authority with name constraints',
      async () => {
        const bounded = await root.intermediate({
          more: [new x509.Extension('2.5.29.30', false, new Uint8Array([0x30, 0]))],
        })
        return [await bounded.issue(), bounded]
      },
      'an extension is not understood: 2.5.29.30',
    ],
    [
      'one authority too many',
      async () => {
        const only = await root.intermediate({ ca: { pathLength: 0 } })
        const below = await only.intermediate({ subject: [{ CN: ['Below CA'] }] })
        return [await below.issue(), below, only]
      },
      'an authority may not have so many below it',
    ],
  ])('through %s', async (_what, make, fault) => {
    const [leaf, ...chain] = await make()
    expect(faultOf(leaf, ...chain)).toBe(fault)
  })

  it('through an issuer that is not a certificate authority', async () => {
    const leaf = await root.intermediate({ ca: false })
    expect(faultOf(await leaf.issue(), leaf)).toBe('an issuer is no authority')
  })

  it('through authorities that certify each other', async () => {
    const [left, right] = [await createCertificateAuthority(), await createCertificateAuthority()]
    const subject = [{ CN: ['Loop CA'] }]
    const there = await left.intermediate({ subject, keys: right.keys })
    const loop = await createCertificateAuthority({ subject, keys: right.keys })
    const back = await loop.intermediate({ keys: left.keys })
    expect(faultOf(await left.issue(), there, back, there, back)).toBe('no trust anchor has issued it')
  })

  it('of a hundred forks, after a bounded number of signatures', async () => {
    const twins = await Promise.all(Array.from({ length: 30 }, () => createCertificateAuthority()))
    const leaf = await (await createCertificateAuthority()).issue()
    expect(faultOf(leaf, ...twins)).toBe('no trust anchor has issued it')
  })

  it('whose key is not on its curve', async () => {
    const { der } = await root.issue()
    // The uncompressed point of P-256 begins with 4, after its length of 66 bytes.
    const point = der.indexOf(Buffer.from('034200', 'hex')) + 4
    const broken = Buffer.concat([der.subarray(0, point), Buffer.alloc(64, 1), der.subarray(point + 64)])
    const certificate = { raw: broken, chain: [broken], thumbprint: 'x' }
    expect(trusting().read(certificate)).toBeUndefined()
    expect(trusting().findFault(certificate)).toBe('it does not parse')
  })

  it('that does not parse', () => {
    const certificate = { raw: Buffer.from('junk'), chain: [], thumbprint: 'x' }
    expect(trusting().read(certificate)).toBeUndefined()
    expect(trusting().findFault(certificate)).toBe('it does not parse')
  })
})
