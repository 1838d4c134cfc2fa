import 'reflect-metadata'
import * as android from '@peculiar/asn1-android'
import { AsnConvert, OctetString } from '@peculiar/asn1-schema'
import {
  createCertificateAuthority,
  createCertificateKeys,
  x509,
  type CertificateAuthority,
  type CertificateKeys,
  type CertificateRequest,
  type IssuedCertificate,
} from './certificates.js'

export const keyDescriptionId = '1.3.6.1.4.1.11129.2.1.17'
export const packageName = 'com.bank.example'
export const signatureDigest = 'ab'.repeat(32)

export type Authorizations = {
  readonly [Name in keyof android.AuthorizationList]?: android.AuthorizationList[Name] | undefined
}

/** What of a key description a test makes otherwise. */
export interface DescriptionRequest {
  readonly challenge: string
  readonly level?: android.SecurityLevel
  readonly keymasterLevel?: android.SecurityLevel
  /** undefined: leaves a tag out. */
  readonly software?: Authorizations
  readonly hardware?: Authorizations
  readonly root?: Partial<android.RootOfTrust> | null
  readonly packages?: readonly string[]
  readonly digests?: readonly string[]
}

const octets = (bytes: Buffer): OctetString => new OctetString(new Uint8Array(bytes))

export const applicationId = (packages: readonly string[], digests: readonly string[]): OctetString =>
  octets(
    Buffer.from(
      AsnConvert.serialize(
        new android.AttestationApplicationId({
          packageInfos: packages.map(
            (name) => new android.AttestationPackageInfo({ packageName: octets(Buffer.from(name)), version: 7 }),
          ),
          signatureDigests: digests.map((digest) => octets(Buffer.from(digest, 'hex'))),
        }),
      ),
    ),
  )

/** The extension as the TEE of a locked, verified phone writes it for a signing key. */
export const describeKey = (request: DescriptionRequest): Buffer => {
  const { level = android.SecurityLevel.trustedEnvironment, root = {} } = request
  const rootOfTrust =
    root === null
      ? undefined
      : new android.RootOfTrust({
          verifiedBootKey: octets(Buffer.alloc(32, 1)),
          deviceLocked: true,
          verifiedBootState: android.VerifiedBootState.verified,
          verifiedBootHash: octets(Buffer.alloc(32, 2)),
          ...root,
        })
  return Buffer.from(
    AsnConvert.serialize(
      new android.KeyDescription({
        attestationVersion: 300,
        attestationSecurityLevel: level,
        keymasterVersion: 300,
        keymasterSecurityLevel: request.keymasterLevel ?? level,
        attestationChallenge: octets(Buffer.from(request.challenge)),
        uniqueId: octets(Buffer.alloc(0)),
        softwareEnforced: new android.AuthorizationList({
          creationDateTime: 1_790_000_000_000,
          attestationApplicationId: applicationId(
            request.packages ?? [packageName],
            request.digests ?? [signatureDigest],
          ),
          ...request.software,
        } as Partial<android.AuthorizationList>),
        teeEnforced: new android.AuthorizationList({
          purpose: new android.IntegerSet([2, 3]),
          algorithm: 3,
          keySize: 256,
          digest: new android.IntegerSet([4]),
          ecCurve: 1,
          noAuthRequired: null,
          origin: 0,
          osVersion: 150_000,
          osPatchLevel: 202_610,
          vendorPatchLevel: 20_261_005,
          bootPatchLevel: 20_261_005,
          ...(rootOfTrust && { rootOfTrust }),
          ...request.hardware,
        } as Partial<android.AuthorizationList>),
      }),
    ),
  )
}

export const extensionOf = (description: Buffer, id = keyDescriptionId): x509.Extension =>
  new x509.Extension(id, false, new Uint8Array(description))

export interface AndroidPhone {
  readonly root: CertificateAuthority
  readonly batch: CertificateAuthority
  readonly keys: CertificateKeys
  /** The certificate of its key, with a description. */
  issue(description: Buffer | readonly x509.Extension[], request?: CertificateRequest): Promise<IssuedCertificate>
}

/** A phone with a chain of root, batch and key, all made here: a double of the hardware, whose certificates are real ones. */
export const createAndroidPhone = async (): Promise<AndroidPhone> => {
  const root = await createCertificateAuthority({ subject: [{ CN: ['Test attestation root'] }] })
  const batch = await root.intermediate({ subject: [{ CN: ['Test batch'] }] })
  const keys = await createCertificateKeys()
  return {
    ...{ root, batch, keys },
    issue: (description, request = {}) =>
      batch.issue({
        subject: [{ CN: ['Android Keystore Key'] }],
        eku: null,
        keys,
        more: Buffer.isBuffer(description) ? [extensionOf(description)] : description,
        ...request,
      }),
  }
}

export const x5cOf = (...chain: readonly IssuedCertificate[]): string[] =>
  chain.map(({ der }) => der.toString('base64'))
