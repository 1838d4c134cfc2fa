import { AsnConvert, type OctetString } from '@peculiar/asn1-schema'
import * as android from '@peculiar/asn1-android'

/**
 * The parts of a key description that are checked (Android, "Verify hardware-backed key pairs with key attestation").
 */
export interface KeyDescription {
  readonly attestationVersion: number
  /** The lower of two levels: where the key is, and where the statement was signed. */
  readonly securityLevel: 'software' | 'trusted_environment' | 'strong_box'
  readonly challenge: Buffer
  /** Stated by the hardware. */
  readonly isGenerated: boolean
  readonly mayOnlySign: boolean
  readonly isForAllApplications: boolean
  readonly isDeviceLocked: boolean
  readonly isVerifiedBoot: boolean
  readonly needsUser: boolean
  readonly osVersion: number
  readonly osPatchLevel: number
  /** Stated by the system about the caller of the key store. */
  readonly packages: readonly string[]
  readonly signatureDigests: readonly string[]
}

/** KeyMint's `Purpose`, `KeyOrigin`, `Algorithm`. */
const sign = 2
const verify = 3
const generated = 0

const maxBytes = 4096

/** Whether this is one DER element to the last byte: a short tag, and a definite length equal to the rest. */
const isWholeDer = (bytes: Buffer): boolean => {
  const first = bytes[1]
  if (first === undefined) return false
  if (first < 0x80) return bytes.length === 2 + first
  const lengthBytes = first - 0x80
  if (lengthBytes === 0 || lengthBytes > 3 || bytes.length < 2 + lengthBytes) return false
  return bytes.length === 2 + lengthBytes + bytes.readUIntBE(2, lengthBytes)
}

/** The package types declare both as `OctetString`. */
const bytesOf = (value: OctetString | ArrayBuffer): Buffer =>
  Buffer.from(value instanceof ArrayBuffer ? value : value.buffer)

/** A repeated tag in a list would be ambiguous. */
const checkOnce = (list: android.NonStandardAuthorizationList): void => {
  const names = list.flatMap((one) => Object.keys(one).filter((name) => Reflect.get(one, name) !== undefined))
  if (new Set(names).size < names.length) throw new Error('an authorization comes twice')
}

const levels = ['software', 'trusted_environment', 'strong_box'] as const

const readApplication = (value: OctetString | undefined): Pick<KeyDescription, 'packages' | 'signatureDigests'> => {
  if (value === undefined) return { packages: [], signatureDigests: [] }
  const bytes = bytesOf(value)
  if (!isWholeDer(bytes)) throw new Error('the application id is truncated or has trailing data')
  const id = AsnConvert.parse(bytes, android.AttestationApplicationId)
  return {
    packages: id.packageInfos.map(({ packageName }) => bytesOf(packageName).toString('utf8')),
    signatureDigests: id.signatureDigests.map((digest) => bytesOf(digest).toString('hex')),
  }
}

/** Throws `Error` for any bytes that are not a key description. */
export const readKeyDescription = (der: Buffer): KeyDescription => {
  if (der.length > maxBytes || !isWholeDer(der)) throw new Error('too long, cut short, or followed by something')
  const read = AsnConvert.parse(der, android.NonStandardKeyDescription)
  const { softwareEnforced: software, teeEnforced: hardware } = read
  checkOnce(software)
  checkOnce(hardware)
  const both: readonly number[] = [read.attestationSecurityLevel, read.keymasterSecurityLevel]
  if (both.some((one) => levels[one] === undefined)) throw new Error('the security level is unknown')
  const root = hardware.findProperty('rootOfTrust')
  const purposes = [...(hardware.findProperty('purpose') ?? [])]
  const hasNull = (list: android.NonStandardAuthorizationList, name: 'allApplications' | 'noAuthRequired'): boolean =>
    list.findProperty(name) !== undefined
  return {
    attestationVersion: read.attestationVersion,
    securityLevel: levels[Math.min(...both)] ?? 'software',
    challenge: bytesOf(read.attestationChallenge),
    isGenerated: hardware.findProperty('origin') === generated,
    mayOnlySign: purposes.includes(sign) && purposes.every((purpose) => purpose === sign || purpose === verify),
    isForAllApplications: hasNull(software, 'allApplications') || hasNull(hardware, 'allApplications'),
    isDeviceLocked: root?.deviceLocked === true,
    isVerifiedBoot: root?.verifiedBootState === android.VerifiedBootState.verified,
    needsUser: (hardware.findProperty('userAuthType') ?? 0) !== 0 && !hasNull(hardware, 'noAuthRequired'),
    osVersion: hardware.findProperty('osVersion') ?? 0,
    osPatchLevel: hardware.findProperty('osPatchLevel') ?? 0,
    ...readApplication(software.findProperty('attestationApplicationId')),
  }
}
