import { readTrustedCertificates, readTrustedKeys, TrustedFileUnfit } from '../operate/pack/trusted-files.js'
import { verifyPack, type PackVerification } from '../operate/pack/verify-pack.js'
import { CommandFailed } from './failure.js'
import { bad, good, print, printFields, printJson, show } from './output.js'

export interface VerifyPackCommandOptions {
  readonly key?: string
  readonly timestampCa?: string
  readonly json?: true
}

const explain = (error: unknown): never => {
  throw error instanceof TrustedFileUnfit ? new CommandFailed(error.message) : error
}

/** Implements `signet audit pack --verify`. The exit code is 1 when anything is wrong with the pack. */
export const verifyAuditPack = async (folder: string, options: VerifyPackCommandOptions): Promise<void> => {
  const { key, timestampCa, json } = options
  const found = await verifyPack(folder, {
    ...(key !== undefined && { keys: await readTrustedKeys(key).catch(explain) }),
    ...(timestampCa !== undefined && { timestampAnchors: await readTrustedCertificates(timestampCa).catch(explain) }),
  })
  if (found.findings.length > 0) process.exitCode = 1
  if (json) return printJson(found)
  printVerification(found)
}

const printVerification = ({ manifest, signed, timestamp, findings, notes }: PackVerification): void => {
  printFields({
    ...(manifest && {
      issuer: manifest.issuer,
      range: `${manifest.range.from} to ${manifest.range.to}`,
      made: `${manifest.made_at}, by version ${manifest.version}`,
    }),
    ...(signed && { key: `${signed.kid} (${signed.alg})`, thumbprint: signed.thumbprint }),
    ...(timestamp && {
      stamped: `${timestamp.time}${timestamp.authority === undefined ? '' : `, ${timestamp.authority}`}`,
    }),
  })
  print('')
  for (const { file, message } of findings) print(bad(show(file === undefined ? message : `${file}: ${message}`)))
  for (const note of notes) print(show(`note: ${note}`))
  if (findings.length === 0) print(good('The pack is as it was made.'))
}
