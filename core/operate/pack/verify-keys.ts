import { findAlgorithm } from '../../jose/algorithms.js'
import { BadJwk, checkPublicJwk } from '../../jose/public-key-guard.js'
import { findKeyLogFaults } from './key-log-part.js'
import { maxJsonBytes, parseJson, type PackReport } from './pack-report.js'
import { partNames, type Manifest } from './pack.js'
import { parseKeyLog, parseKeys, type ReadKey } from './read-manifest.js'
import { readWhole } from './sealed-files.js'

const findKeyFault = ({ alg: named, jwk, thumbprint, backend }: ReadKey): string | undefined => {
  const alg = findAlgorithm(named)
  try {
    if (jwk !== undefined && alg !== undefined && checkPublicJwk(jwk, [alg]).thumbprint !== thumbprint)
      return 'its thumbprint is not the one of its public key'
  } catch (error) {
    if (!(error instanceof BadJwk)) throw error
    return 'its public key is not accepted'
  }
  const said = backend.thumbprint
  return said === undefined || thumbprint === undefined || said === thumbprint
    ? undefined
    : 'its backend has another key'
}

export const checkKeys = async (folder: string, report: PackReport): Promise<readonly ReadKey[]> => {
  const bytes = await report.check(partNames.keys, () => readWhole(folder, partNames.keys, maxJsonBytes))
  if (bytes === undefined) return []
  const inventory = parseKeys(parseJson(bytes))
  if (inventory === undefined) {
    report.find('is not a list of keys', partNames.keys)
    return []
  }
  const { signers, keys } = inventory
  for (const { signer, status, reason = '' } of signers)
    if (status !== 'answered') report.notes.push(`the signer ${signer} did not answer: ${reason}`)
  for (const key of keys) {
    const fault = findKeyFault(key)
    if (fault !== undefined) report.find(`${key.kid}: ${fault}`, partNames.keys)
    const { status, reason = '' } = key.backend
    if (status === 'absent' || status === 'refused')
      report.notes.push(`${key.kid}: its backend did not confirm it: ${reason}`)
  }
  return keys
}

/** The checkpoint may be signed by a key that the pack knows and the verifier does not. */
export const checkKeyLog = async (
  folder: string,
  { issuer, files }: Manifest,
  trusted: readonly unknown[],
  keys: readonly ReadKey[],
  report: PackReport,
): Promise<void> => {
  if (!files.some(({ name }) => name === partNames.keyLog)) return void report.notes.push('the pack has no key log')
  const bytes = await report.check(partNames.keyLog, () => readWhole(folder, partNames.keyLog, maxJsonBytes))
  const part = bytes && parseKeyLog(parseJson(bytes))
  if (part === undefined) return bytes && report.find('is not a part of a key log', partNames.keyLog)
  const signers = [...trusted, ...keys.map(({ jwk }) => jwk)]
  const known = new Map(keys.flatMap(({ kid, thumbprint }) => (thumbprint === undefined ? [] : [[kid, thumbprint]])))
  for (const fault of findKeyLogFaults(part, { issuer, signers, known })) report.find(fault, partNames.keyLog)
}
