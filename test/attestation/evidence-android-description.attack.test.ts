import { createHash } from 'node:crypto'
import { IntegerSet, RootOfTrust, SecurityLevel, VerifiedBootState } from '@peculiar/asn1-android'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import plugin from '../../plugins/attestation/evidence-android-key/index.js'
import {
  askAbout,
  askFor,
  describeAs,
  high,
  phone,
  refused,
  settings,
  setUpAndroid,
} from '../support/clients/android-evidence.js'
import {
  applicationId,
  extensionOf,
  keyDescriptionId,
  packageName,
  signatureDigest,
  type DescriptionRequest,
} from '../support/forge/android-key.js'
import { readDocument } from '../support/document.js'
import type { x509 } from '../support/forge/certificates.js'

setUpAndroid()

type Json = Record<string, unknown>

describe('EV04: a description that says', () => {
  const rows: readonly (readonly [string, string, Partial<DescriptionRequest>])[] = [
    ['software', 'the security level is software', { level: SecurityLevel.software }],
    ['that the key is in software', 'the security level is software', { keymasterLevel: SecurityLevel.software }],
    ['unlocked', 'the boot loader is unlocked', { root: { deviceLocked: false } }],
    ['self-signed boot', 'the boot was not verified', { root: { verifiedBootState: VerifiedBootState.selfSigned } }],
    ['unverified boot', 'the boot was not verified', { root: { verifiedBootState: VerifiedBootState.unverified } }],
    ['failed boot', 'the boot was not verified', { root: { verifiedBootState: VerifiedBootState.failed } }],
    ['no root of trust', 'the boot loader is unlocked', { root: null }],
    ['that the key was imported', 'the key was not generated in hardware', { hardware: { origin: 2 } }],
    ['nothing of where it was generated', 'the key was not generated in hardware', { hardware: { origin: undefined } }],
    [
      'that it was generated, by software',
      'the key was not generated in hardware',
      { hardware: { origin: undefined }, software: { origin: 0 } },
    ],
    [
      'that the key attests others',
      'the key is not for signatures alone',
      { hardware: { purpose: new IntegerSet([2, 7]) } },
    ],
    [
      'that the key does not sign',
      'the key is not for signatures alone',
      { hardware: { purpose: new IntegerSet([6]) } },
    ],
    ['that every application may use it', 'every application may use the key', { software: { allApplications: null } }],
    ['another package', 'the package is another one', { packages: ['com.bank.example.evil'] }],
    ['another package beside ours', 'the package is another one', { packages: [packageName, 'com.evil'] }],
    ['no package', 'the key description does not parse', { packages: [] }],
    ['another signer', 'the package is signed by another', { digests: ['cd'.repeat(32)] }],
    ['another signer beside ours', 'the package is signed by another', { digests: [signatureDigest, 'cd'.repeat(32)] }],
    ['no signer', 'the key description does not parse', { digests: [] }],
    [
      'nothing of the application',
      'it does not say which application has the key',
      { software: { attestationApplicationId: undefined } },
    ],
    [
      'the application in the list of hardware alone',
      'it does not say which application has the key',
      {
        software: { attestationApplicationId: undefined },
        hardware: { attestationApplicationId: applicationId([packageName], [signatureDigest]) },
      },
    ],
  ]
  it.each(rows)('%s is refused', async (_name, reason, request) => {
    expect(await askAbout(request)).toEqual(refused(reason))
  })

  it('a root of trust found only in the software list is refused', async () => {
    const rootOfTrust = new RootOfTrust({ deviceLocked: true, verifiedBootState: VerifiedBootState.verified })
    expect(await askAbout({ root: null, software: { rootOfTrust } })).toEqual(refused('the boot loader is unlocked'))
  })
  it('a system older than the policy requires is refused', async () => {
    expect(await askAbout({}, { min_os_version: 150_000, min_os_patch_level: 202_610 })).toMatchObject({ ok: true })
    expect(await askAbout({}, { min_os_version: 160_000 })).toEqual(refused('the version of the system is too old'))
    expect(await askAbout({}, { min_os_patch_level: 202_611 })).toEqual(
      refused('the patch level of the system is too old'),
    )
    expect(await askAbout({ hardware: { osVersion: undefined } }, { min_os_version: 1 })).toEqual(
      refused('the version of the system is too old'),
    )
  })
  it('a level that the deployer has not listed is refused', async () => {
    const changes = { security_levels: { strong_box: high } }
    expect(await askAbout({}, changes)).toEqual(refused('the security level is trusted_environment'))
    expect(
      await askAbout({ level: SecurityLevel.strongBox, keymasterLevel: SecurityLevel.trustedEnvironment }, changes),
    ).toEqual(refused('the security level is trusted_environment'))
  })
  it('a key without user authentication is refused where the policy requires it', async () => {
    const changes = { require_user_authentication: true }
    expect(await askAbout({}, changes)).toEqual(refused('the key can be used without the user'))
    const hardware = { noAuthRequired: undefined, userAuthType: 2 }
    expect(await askAbout({ hardware }, changes)).toMatchObject({ ok: true })
  })
})

describe('EV05: an extension that', () => {
  const unparsable = 'the key description does not parse'
  const rows: readonly (readonly [string, string, () => readonly x509.Extension[]])[] = [
    ['is missing', 'there is no key description', () => []],
    ['comes twice', 'a certificate does not parse', () => [extensionOf(describeAs()), extensionOf(describeAs())]],
    ['is under another id', 'there is no key description', () => [extensionOf(describeAs(), `${keyDescriptionId}.1`)]],
    [
      'is huge',
      unparsable,
      () => [
        extensionOf(
          describeAs({
            software: {
              attestationApplicationId: applicationId(
                Array.from({ length: 200 }, (_, n) => `${packageName}.${String(n)}`),
                [signatureDigest],
              ),
            },
          }),
        ),
      ],
    ],
    ['is empty', unparsable, () => [extensionOf(Buffer.alloc(0))]],
    ['goes on after its end', unparsable, () => [extensionOf(Buffer.concat([describeAs(), Buffer.from([5, 0])]))]],
    [
      'has an indefinite length',
      unparsable,
      () => [extensionOf(Buffer.concat([Buffer.from([0x30, 0x80]), describeAs().subarray(4), Buffer.from([0, 0])]))],
    ],
    [
      'lies about its length',
      unparsable,
      () => [extensionOf(Buffer.concat([Buffer.from([0x30, 0x83, 0xff, 0xff, 0xff]), describeAs().subarray(4)]))],
    ],
    ['is text', unparsable, () => [extensionOf(Buffer.from('software'))]],
    ['is nested 1,000 deep', unparsable, () => [extensionOf(nested(1000))]],
  ]
  const nested = (depth: number): Buffer => {
    let bytes = Buffer.from([5, 0])
    for (let level = 0; level < depth; level++) {
      const head = bytes.length < 0x80 ? [0x30, bytes.length] : [0x30, 0x82, bytes.length >> 8, bytes.length & 0xff]
      bytes = Buffer.concat([Buffer.from(head), bytes])
    }
    return bytes
  }
  it.each(rows)('%s is refused', async (_name, reason, extensions) => {
    expect(await askFor(await phone.issue(extensions()))).toEqual(refused(reason))
  })
  it('is truncated anywhere is refused', async () => {
    const whole = describeAs()
    for (let length = 0; length < whole.length; length += 17)
      expect(await askFor(await phone.issue(whole.subarray(0, length)))).toEqual(refused(unparsable))
  })
  it('repeats a tag is refused', async () => {
    // rootOfTrust once more, before the honest one: [704] is bf 85 40.
    const whole = describeAs({ root: { deviceLocked: false } })
    const at = whole.indexOf(Buffer.from([0xbf, 0x85, 0x40]))
    const unlocked = whole.subarray(at, at + 4 + (whole[at + 3] ?? 0))
    const locked = describeAs()
    const start = locked.indexOf(Buffer.from([0xbf, 0x85, 0x40]))
    const list = findListStart(locked, start)
    const lists = Buffer.concat([locked.subarray(list.content, start), unlocked, locked.subarray(start)])
    const tee = wrap(0x30, lists)
    const head = locked.subarray(4, list.tag)
    expect(await askFor(await phone.issue(wrap(0x30, Buffer.concat([head, tee]))))).toEqual(refused(unparsable))
  })
})

const wrap = (tag: number, content: Buffer): Buffer => {
  const { length } = content
  const head =
    length < 0x80 ? [tag, length] : length < 0x100 ? [tag, 0x81, length] : [tag, 0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from(head), content])
}

/** Where the list of hardware begins, which is the last of the description and has `within` in it. */
const findListStart = (whole: Buffer, within: number): { readonly tag: number; readonly content: number } => {
  for (let tag = 4; tag < within; tag++) {
    if (whole[tag] !== 0x30) continue
    const first = whole[tag + 1] ?? 0
    const more = first < 0x80 ? 0 : first - 0x80
    if (more > 2) continue
    const length = more === 0 ? first : whole.readUIntBE(tag + 2, more)
    if (tag + 2 + more + length === whole.length) return { tag, content: tag + 2 + more }
  }
  throw new Error('no list')
}

describe('options', () => {
  const faultsOf = async (changes: Json) => {
    const checked = await plugin.options?.['~standard'].validate(settings(changes))
    return checked !== undefined && 'issues' in checked ? checked.issues?.map(({ message }) => message) : undefined
  }
  it.each<readonly [string, Json, string]>([
    ['no root', { roots: [] }, 'must name at least one root'],
    ['a root that is none', { roots: ['x'] }, 'must contain certificates in PEM'],
    [
      'neither list',
      { revocation_list: undefined },
      'exactly one of revocation_list and revocation_list_url must be given',
    ],
    [
      'both lists',
      { revocation_list_url: 'https://lists.example/status' },
      'exactly one of revocation_list and revocation_list_url must be given',
    ],
    [
      'a list that is none',
      { revocation_list: '[]' },
      'must be a list of revoked certificates: {"entries": {"<serial number>": …}}',
    ],
    ['no level', { security_levels: {} }, 'must name trusted_environment, strong_box or both'],
    ['no package', { packages: [] }, 'must name at least one package'],
    [
      'a short digest',
      { packages: [{ name: 'a', signature_digests: ['ab'] }] },
      'must be a SHA-256 digest in hexadecimal',
    ],
  ])('%s is a problem', async (_name, changes, message) => {
    expect(await faultsOf(changes)).toEqual([message])
  })
  it('match the documentation', async () => {
    const blocks = [...readDocument('docs/attestation-evidence.md').matchAll(/^```yaml\n(plugins:\n[\s\S]*?)^```$/gm)]
    const plugins = blocks.flatMap(
      ([, yaml = '']) => (parse(yaml) as { plugins: { use: string; options: Json }[] }).plugins,
    )
    const documented = plugins.find(({ use }) => use === 'plugins/attestation/evidence-android-key')?.options
    const [known, ...packages] = documented?.['packages'] as Json[]
    expect(packages).toEqual([])
    const written = {
      ...documented,
      roots: [phone.root.pem],
      packages: [{ ...known, signature_digests: ['ab'.repeat(32)] }],
    }
    expect((await plugin.options?.['~standard'].validate(written))?.issues).toBeUndefined()
  })
  it('digests may be written with colons, as keytool prints them', async () => {
    const colons = (createHash('sha256').update('x').digest('hex').toUpperCase().match(/../g) ?? []).join(':')
    expect(await faultsOf({ packages: [{ name: 'a', signature_digests: [colons] }] })).toBeUndefined()
  })
})
