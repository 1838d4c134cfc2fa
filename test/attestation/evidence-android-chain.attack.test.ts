import { SecurityLevel } from '@peculiar/asn1-android'
import { describe, expect, it } from 'vitest'
import {
  ask,
  askAbout,
  askFor,
  challenge,
  describeAs,
  phone,
  refused,
  setUpAndroid,
} from '../support/clients/android-evidence.js'
import { extensionOf, packageName, x5cOf } from '../support/forge/android-key.js'
import {
  createCertificateAuthority,
  createCertificateKeys,
  createSelfSigned,
  x509,
  type IssuedCertificate,
} from '../support/forge/certificates.js'

setUpAndroid()

describe('a key of a locked phone is accepted', () => {
  it('in the TEE, with the level that the deployer configured', async () => {
    expect(await askAbout({})).toEqual({
      ok: true,
      keyStorage: ['iso_18045_moderate'],
      details: {
        security_level: 'trusted_environment',
        attestation_version: 300,
        packages: [packageName],
        os_version: 150_000,
        os_patch_level: 202_610,
      },
    })
  })
  it('in the StrongBox, and reports user presence only if the hardware enforces it', async () => {
    const level = SecurityLevel.strongBox
    expect(await askAbout({ level })).toMatchObject({ ok: true, keyStorage: ['iso_18045_high'] })
    expect(await askAbout({ level })).not.toHaveProperty('userAuthentication')
    const hardware = { noAuthRequired: undefined, userAuthType: 2 }
    expect(await askAbout({ level, hardware })).toMatchObject({ userAuthentication: ['iso_18045_moderate'] })
    expect(await askAbout({ level, software: { userAuthType: 2 } })).not.toHaveProperty('userAuthentication')
  })
  it('without the root, and with the chain in any order', async () => {
    const leaf = await phone.issue(describeAs())
    expect(await askFor(leaf, [phone.batch])).toMatchObject({ ok: true })
    expect(await askFor(leaf, [phone.root, phone.batch])).toMatchObject({ ok: true })
  })
})

describe('EV01: a chain', () => {
  const rows: readonly (readonly [string, string | RegExp, () => Promise<unknown>])[] = [
    [
      'to another root of the same name',
      'no trust anchor has issued it',
      async () => {
        const other = await createCertificateAuthority({ subject: [{ CN: ['Test attestation root'] }] })
        const batch = await other.intermediate()
        const leaf = await batch.issue({ eku: null, keys: phone.keys, more: [extensionOf(describeAs())] })
        return askFor(leaf, [batch, other])
      },
    ],
    [
      'that the phone signed itself',
      'no trust anchor has issued it',
      async () => askFor(await createSelfSigned({ keys: phone.keys, more: [extensionOf(describeAs())] }), []),
    ],
    [
      'without its intermediate',
      'no trust anchor has issued it',
      async () => askFor(await phone.issue(describeAs()), []),
    ],
    [
      'with one bit of the signature flipped',
      'no trust anchor has issued it',
      async () => {
        const leaf = await phone.issue(describeAs())
        const der = Buffer.from(leaf.der)
        der[der.length - 1] = (der.at(-1) ?? 0) ^ 1
        return ask({ x5c: [der.toString('base64'), ...x5cOf(phone.batch)] }, {}, leaf.publicJwk)
      },
    ],
    [
      'of which the key has expired',
      'it has expired',
      async () => askFor(await phone.issue(describeAs(), { notAfter: new Date(Date.now() - 60_000) })),
    ],
    [
      'that is not valid yet',
      'it is not yet valid',
      async () => askFor(await phone.issue(describeAs(), { notBefore: new Date(Date.now() + 60_000) })),
    ],
    [
      'of which the intermediate has expired',
      'it has expired',
      async () => {
        const batch = await phone.root.intermediate({ notAfter: new Date(Date.now() - 60_000) })
        return askFor(await batch.issue({ eku: null, keys: phone.keys, more: [extensionOf(describeAs())] }), [batch])
      },
    ],
    [
      'whose intermediate is no authority',
      'an issuer is no authority',
      async () => {
        const batch = await phone.root.intermediate({ ca: false })
        return askFor(await batch.issue({ eku: null, keys: phone.keys, more: [extensionOf(describeAs())] }), [batch])
      },
    ],
    [
      'longer than an authority allows',
      'an authority may not have so many below it',
      async () => {
        const short = await phone.root.intermediate({ subject: [{ CN: ['Short'] }], ca: { pathLength: 0 } })
        const batch = await short.intermediate({ subject: [{ CN: ['Below'] }] })
        return askFor(await batch.issue({ eku: null, keys: phone.keys, more: [extensionOf(describeAs())] }), [
          batch,
          short,
        ])
      },
    ],
    [
      'of nine certificates',
      'x5c is not a chain of certificates',
      async () =>
        askFor(
          await phone.issue(describeAs()),
          Array.from({ length: 8 }, () => phone.batch),
        ),
    ],
    [
      'signed with SHA-1',
      'a signature is too weak',
      async () => askFor(await phone.issue(describeAs(), { hash: 'SHA-1' })),
    ],
    [
      'under an RSA key of 1024 bits',
      'a key is too weak',
      async () => {
        const batch = await phone.root.intermediate({ keys: await createCertificateKeys('RSA1024') })
        return askFor(await batch.issue({ eku: null, keys: phone.keys, more: [extensionOf(describeAs())] }), [batch])
      },
    ],
    [
      'with a critical extension that nobody understands',
      /an extension is not understood/,
      async () =>
        askFor(
          await phone.issue([extensionOf(describeAs()), new x509.Extension('1.2.3.4', true, new Uint8Array([5, 0]))]),
        ),
    ],
    [
      'of an authority',
      'it is the certificate of an authority',
      async () => askFor(await phone.issue(describeAs(), { ca: true, keyUsage: x509.KeyUsageFlags.keyCertSign })),
    ],
  ]
  it.each(rows)('%s is refused', async (_name, reason, run) => {
    expect(await run()).toEqual(refused(reason))
  })
})

describe('EV02: x5c that', () => {
  const good = async () => x5cOf(await phone.issue(describeAs()), phone.batch)
  const rows: readonly (readonly [string, (x5c: string[]) => unknown])[] = [
    ['is missing', () => undefined],
    ['is text', ([leaf]) => leaf],
    ['is empty', () => []],
    ['has a number', (x5c) => [...x5c, 7]],
    ['has a list', (x5c) => [x5c]],
    [
      'is base64url',
      (x5c) => x5c.map((one) => `${one.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')}-`),
    ],
    ['is PEM', () => [phone.batch.pem]],
    ['has a line break', ([leaf = '', ...more]) => [`${leaf.slice(0, 64)}\n${leaf.slice(64)}`, ...more]],
    ['has a certificate of more than 16 KiB', (x5c) => [...x5c, Buffer.alloc(16_400).toString('base64')]],
  ]
  it.each(rows)('%s is no chain', async (_name, change) => {
    expect(await ask({ x5c: change(await good()) }, {}, phone.batch.publicJwk)).toEqual(
      refused('x5c is not a chain of certificates'),
    )
  })

  it('is truncated or extended anywhere is refused, without another error', async () => {
    const leaf = await phone.issue(describeAs())
    for (let length = 1; length < leaf.der.length; length += 29) {
      const x5c = [leaf.der.subarray(0, length).toString('base64'), ...x5cOf(phone.batch)]
      expect(await ask({ x5c }, {}, leaf.publicJwk)).toEqual(refused('a certificate does not parse'))
    }
  })
})

describe('EV03: evidence about', () => {
  it('a key other than the enrolled one is refused', async () => {
    const leaf = await phone.issue(describeAs())
    const other = await createCertificateKeys()
    const { publicJwk } = await createSelfSigned({ keys: other })
    expect(await ask({ x5c: x5cOf(leaf, phone.batch) }, {}, publicJwk)).toEqual(refused('it is about another key'))
  })
  it.each([
    ['another challenge', 'd'.repeat(72)],
    ['a challenge cut short', challenge.slice(1)],
    ['a longer challenge', `${challenge}c`],
    ['no challenge', ''],
  ])('%s is refused', async (_name, other) => {
    expect(await askAbout({ challenge: other })).toEqual(refused('it is for another challenge'))
  })
})

describe('EV06: a key that', () => {
  it('was certified by an attested key is refused, because an issuer with a description is a device', async () => {
    const device = await phone.batch.intermediate({
      subject: [{ CN: ['Android Keystore Key'] }],
      more: [extensionOf(describeAs())],
    })
    const leaf = await device.issue({
      eku: null,
      keys: phone.keys,
      more: [extensionOf(describeAs({ level: SecurityLevel.strongBox }))],
    })
    expect(await askFor(leaf, [device, phone.batch])).toEqual(refused('an issuer is a key of a device'))
  })
})

describe('EV07: a certificate on the revocation list', () => {
  const serialOf = ({ der }: IssuedCertificate) => new x509.X509Certificate(new Uint8Array(der)).serialNumber
  const listed = (serial: string, status = 'REVOKED') => ({
    revocation_list: JSON.stringify({ entries: { [serial]: { status, reason: 'KEY_COMPROMISE' } } }),
  })
  it.each(['REVOKED', 'SUSPENDED'])('invalidates the chain below it: %s', async (status) => {
    const leaf = await phone.issue(describeAs())
    for (const one of [phone.batch, leaf, phone.root]) {
      const serial = serialOf(one).replace(/^0+/, '')
      for (const spelling of [serial, serial.toUpperCase(), `00${serial}`])
        expect(await askFor(leaf, undefined, listed(spelling, status))).toEqual(refused('a certificate is revoked'))
    }
    expect(await askFor(leaf, undefined, listed('7f'))).toMatchObject({ ok: true })
  })
})
