import { definePlugin } from '../../../core/api/index.js'
import {
  createCertificateChains,
  isForKey,
  readX5c,
  type EvidenceDenied,
  type EvidenceVerifier,
} from '../../../core/api/attestation.js'
import { readKeyDescription, type KeyDescription } from './key-description.js'
import { options, type Options } from './options.js'
import { normalizeSerial } from './read-list.js'
import { createRevocationList } from './revocation-list.js'

/** `id-ce-keyDescription` (Android, "Key attestation extension data schema"). */
const keyDescription = '1.3.6.1.4.1.11129.2.1.17'

const refuse = (reason: string): EvidenceDenied => ({ ok: false, reason: `android key: ${reason}` })

/** Why the description is not of a key that the deployer trusts, or undefined if it is. */
const findFault = (described: KeyDescription, challenge: string, wanted: Options): string | undefined => {
  if (!described.challenge.equals(Buffer.from(challenge))) return 'it is for another challenge'
  const { securityLevel: level } = described
  if (level === 'software' || wanted.security_levels[level] === undefined) return `the security level is ${level}`
  if (!described.isGenerated) return 'the key was not generated in hardware'
  if (!described.mayOnlySign) return 'the key is not for signatures alone'
  if (described.isForAllApplications) return 'every application may use the key'
  if (!described.isDeviceLocked) return 'the boot loader is unlocked'
  if (!described.isVerifiedBoot) return 'the boot was not verified'
  if (described.osVersion < (wanted.min_os_version ?? 0)) return 'the version of the system is too old'
  if (described.osPatchLevel < (wanted.min_os_patch_level ?? 0)) return 'the patch level of the system is too old'
  if (wanted.require_user_authentication && !described.needsUser) return 'the key can be used without the user'
  return findApplicationFault(described, wanted)
}

/** Applications with the same user id share the key, so each of them must be trusted. */
const findApplicationFault = (
  { packages, signatureDigests }: KeyDescription,
  { packages: trusted }: Options,
): string | undefined => {
  if (packages.length === 0 || signatureDigests.length === 0) return 'it does not say which application has the key'
  for (const name of packages) {
    const known = trusted.find((one) => one.name === name)
    if (known === undefined) return 'the package is another one'
    if (!signatureDigests.every((digest) => known.signature_digests.includes(digest)))
      return 'the package is signed by another'
  }
  return undefined
}

/** The key is in the TEE or StrongBox of a locked Android device that runs an application of the deployer. */
export default definePlugin({
  name: 'attestation/evidence-android-key',
  apiVersion: 1,
  options,
  needs: ['clock', 'outbound'],
  create(wanted, { clock, outbound }) {
    const { kind, roots, security_levels: levels } = wanted
    const chains = createCertificateChains({ trustAnchors: roots, clock })
    const revoked = createRevocationList(wanted, { clock, outbound })
    const verifier: EvidenceVerifier = {
      kind,
      async verify({ jwk, challenge }, { x5c }) {
        const sent = readX5c(x5c)
        if (sent === undefined) return refuse('x5c is not a chain of certificates')
        const chain = chains.check(sent)
        if (!chain.ok) return refuse(chain.reason)
        const { leaf, path } = chain
        const [, ...above] = path
        // The holder of an attested key can sign a certificate with it, so a certificate below one proves nothing
        // about hardware.
        if (above.some(({ extensions }) => extensions.has(keyDescription)))
          return refuse('an issuer is a key of a device')
        if (!isForKey(leaf, jwk)) return refuse('it is about another key')
        const extension = leaf.extensions.get(keyDescription)
        if (extension === undefined) return refuse('there is no key description')
        let described: KeyDescription
        try {
          described = readKeyDescription(extension)
        } catch {
          return refuse('the key description does not parse')
        }
        const fault = findFault(described, challenge, wanted)
        if (fault !== undefined) return refuse(fault)
        const serials = await revoked()
        if (path.some(({ x509 }) => serials.has(normalizeSerial(x509.serialNumber))))
          return refuse('a certificate is revoked')
        const { securityLevel, needsUser, osVersion, osPatchLevel, attestationVersion, packages } = described
        const claims = securityLevel === 'software' ? undefined : levels[securityLevel]
        return {
          ok: true,
          ...(claims && { keyStorage: claims.key_storage }),
          ...(claims?.user_authentication && needsUser && { userAuthentication: claims.user_authentication }),
          details: {
            ...{
              security_level: securityLevel,
              attestation_version: attestationVersion,
              packages: packages.slice(0, 4),
            },
            ...{ os_version: osVersion, os_patch_level: osPatchLevel },
          },
        }
      },
    }
    return { evidence: [verifier] }
  },
})
