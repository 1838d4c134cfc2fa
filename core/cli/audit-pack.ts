import { change } from '../administration/administration.js'
import { isoTime } from '../clock.js'
import type { HsmLogFile } from '../operate/hsm-logs/read-hsm-logs.js'
import { makePack, type MadePack } from '../operate/pack/make-pack.js'
import { FolderRefused } from '../operate/pack/pack-folder.js'
import { LogChanged } from '../operate/pack/range-lines.js'
import { hsmSignersOf, logsOf, explainRecords, trailKeysOf } from './audit.js'
import { administer, checkDeployment } from './deployment.js'
import { CommandFailed } from './failure.js'
import { bad, print, printError, printFields, printJson, show } from './output.js'

export interface MakePackOptions {
  readonly config: string
  readonly from: number
  readonly to: number
  readonly out: string
  readonly audit?: readonly string[]
  readonly cloudtrail?: readonly string[]
  readonly hsmLog?: readonly HsmLogFile[]
  readonly json?: true
}

const explain = (error: unknown): never => {
  if (error instanceof FolderRefused || error instanceof LogChanged) throw new CommandFailed(error.message)
  return explainRecords(error)
}

/**
 * Implements `signet audit pack`. The exit code is 1 when the pack was made and shows that lines of the log are missing
 * or were changed.
 */
export const makeAuditPack = async (options: MakePackOptions): Promise<void> => {
  const { from, to, out, cloudtrail = [], hsmLog = [] } = options
  if (from >= to) throw new CommandFailed('--from must be before --to.')
  if (to > Date.now()) throw new CommandFailed('--to is in the future: a pack has what has happened.')
  const checked = await checkDeployment(options)
  const { config } = checked
  if (!config.keys.some(({ purposes }) => purposes.includes('audit')))
    throw new CommandFailed('No key has the purpose audit, so nothing could sign the pack.')
  const audit = options.audit ?? logsOf(config)
  if (audit.length === 0)
    throw new CommandFailed('The audit log of this configuration is not a file: name its files with --audit.')
  const trailKeys = trailKeysOf(config)
  const hsmSigners = hsmSignersOf(config) ?? []
  const what = { action: 'audit.pack', from: isoTime(from), to: isoTime(to) }
  const made = await administer(config, ({ stores, audit: log, clock, unrecorded }, by) =>
    change({ audit: log, unrecorded, config }, by, what, async (note) => {
      const logs = { audit, cloudtrail, hsmLogs: hsmLog, hsmSigners, ...(trailKeys && { trailKeys }) }
      const pack = await makePack({ folder: out, from, to, by, ...logs }, { checked, stores, audit: log, clock })
      note({ manifest: pack.digest })
      return pack
    }),
  ).catch(explain)
  const { faults } = made.extract
  if (faults.length > 0) process.exitCode = 1
  if (options.json) printJson({ folder: out, digest: made.digest, manifest: made.manifest, faults })
  else printMade(out, made)
}

const printMade = (
  folder: string,
  { manifest, digest, extract, inventory: { signers, keys }, reconciliation }: MadePack,
): void => {
  const { found, faults } = extract
  const unconfirmed = keys.filter(({ backend: { status } }) => status === 'absent' || status === 'refused')
  for (const { signer, status, reason = '' } of signers)
    if (status === 'absent') printError(`warning: the signer ${signer} did not answer: ${reason}`)
  for (const { kid, backend } of unconfirmed)
    if ('reason' in backend) printError(`warning: ${kid}: its backend did not confirm it: ${backend.reason}`)
  if (!manifest.files.some(({ name }) => name === 'sbom.json'))
    printError('warning: this build has no bill of materials: "npm run build" makes one')
  print(`Made the pack ${show(folder)}`)
  printFields({
    range: `${manifest.range.from} to ${manifest.range.to}`,
    lines: `${String(found.lines)} of ${String(found.writers.length)} processes`,
    keys: `${String(keys.length)}, ${String(keys.length - unconfirmed.length)} without a complaint`,
    compared: `${String(reconciliation.files.length)} files of backends`,
    manifest: digest,
  })
  for (const fault of faults) print(bad(`audit log: ${fault}`))
}
