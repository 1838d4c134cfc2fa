import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { readFile } from 'node:fs/promises'
import { isoTime, type Clock } from '../../clock.js'
import { build, packageRoot } from '../../package-root.js'
import { collections } from '../../collections/collections.js'
import type { Stores } from '../../collections/stores.js'
import type { CheckedConfiguration } from '../../checks/check-configuration.js'
import { readPublications } from '../../keys/lifecycle/publications.js'
import { readKeyLog } from '../../keys/log/read-log.js'
import { readSlots } from '../../keys/slots/slot-store.js'
import type { JsonObject } from '../../json.js'
import type { AuditLog } from '../../observe/audit.js'
import { createOutboundFetch } from '../../outbound/outbound-fetch.js'
import { createSignatureCounter, type SignatureCount } from '../count-signatures.js'
import { readLines } from '../json-records.js'
import type { TimeStamp } from '../time-stamps/check-time-stamp.js'
import { fetchTimeStamp } from '../time-stamps/time-stamp-query.js'
import { verifyExtract, type ExtractFaults } from './audit-extract.js'
import { openPackSigner } from './audit-signer.js'
import { compareBackends, type BackendLogs, type PackReconciliation } from './backend-logs.js'
import { openBackends } from './backends.js'
import { proveKeyLog } from './key-log-part.js'
import { takeInventory, type Inventory } from './key-inventory.js'
import { createOperatorCollector, isChange, type OperatorSeen } from './operators.js'
import { openPackFolder, type PackFolder } from './pack-folder.js'
import { packFormat, packJson, partNames, sealNames, type ChainProof, type Manifest, type PackFile } from './pack.js'
import { extractRange } from './range-lines.js'
import { renderPage } from './page.js'

export interface PackRequest extends BackendLogs {
  readonly folder: string
  readonly by: JsonObject
}

export interface PackServices {
  readonly checked: CheckedConfiguration
  readonly stores: Stores
  readonly audit: AuditLog
  readonly clock: Clock
}

export interface MadePack {
  readonly manifest: Manifest
  /** base64url SHA-256 of the manifest. */
  readonly digest: string
  readonly extract: ExtractFaults
  readonly inventory: Inventory
  readonly reconciliation: PackReconciliation
}

interface ExtractedParts {
  readonly files: readonly PackFile[]
  readonly chain: ChainProof
  readonly operators: readonly OperatorSeen[]
  readonly signatures: readonly SignatureCount[]
}

/** Writes the lines of the range and what is read from them. */
const extract = async (folder: PackFolder, { audit, from, to }: PackRequest): Promise<ExtractedParts> => {
  const [lines, changes] = [await folder.part(partNames.audit), await folder.part(partNames.changes)]
  const operators = createOperatorCollector()
  const counter = createSignatureCounter()
  const chain = await extractRange(audit, { from, to }, ({ text, value }) => {
    const written = `${text}\n`
    const added = lines.add(written)
    if (value === undefined) return added
    counter.add(value)
    if (!isChange(value)) return added
    operators.add(value)
    const noted = changes.add(written)
    return added === undefined ? noted : added.then(() => noted)
  })
  const written = [await lines.end(), await changes.end()]
  const [seen, signatures] = [operators.seen(), counter.counts()]
  return {
    files: [
      ...written,
      await folder.write(partNames.chain, packJson(chain)),
      await folder.write(partNames.operators, packJson(seen)),
      await folder.write(partNames.signatures, packJson(signatures)),
    ],
    chain,
    operators: seen,
    signatures,
  }
}

/** The bill of materials of this build. A build for `npm start` alone has none. */
const readSbom = async (): Promise<string | undefined> => {
  try {
    return await readFile(join(packageRoot, 'dist', 'sbom.json'), 'utf8')
  } catch {
    return undefined
  }
}

const stamp = async ({ config }: CheckedConfiguration, content: string): Promise<TimeStamp | undefined> => {
  const url = authorityOf({ config })
  if (url === undefined) return undefined
  // The operator has chosen it, and it may well be in the same network.
  const fetch = createOutboundFetch({ allowPrivateAddresses: true, deadlineMs: 15_000 })
  return fetchTimeStamp(fetch, url, Buffer.from(content))
}

const authorityOf = ({ config }: Pick<CheckedConfiguration, 'config'>): string | undefined =>
  config.audit === 'stdout' ? undefined : config.audit.timestamp_authority

/**
 * Makes a pack in a new or empty folder: first its parts, then their manifest with the time stamp, last the
 * signature, without which there is no pack. Throws `FolderRefused`, `LogChanged`, `RecordsUnreadable`,
 * `ConfigurationError`, `Unavailable`, or the system's error; the folder is as before then.
 */
export const makePack = async (request: PackRequest, services: PackServices): Promise<MadePack> => {
  const { checked, stores, audit, clock } = services
  const { config } = checked
  await using folder = await openPackFolder(request.folder)
  const { publications: published, keySlots, keyLog } = collections(stores)
  const [publications, slots] = [await readPublications(published), await readSlots(keySlots)]
  await using backends = await openBackends(checked.modules.signers, services)
  // The signer is opened first, so that a pack that cannot be signed fails before the log is read.
  await using signer = await openPackSigner({ config, publications, slots, backends, audit, clock })
  const parts = await extract(folder, request)
  const proved = await verifyExtract(readLines(join(request.folder, partNames.audit)), parts.chain)
  const { signers } = checked.modules
  const inventory = await takeInventory({ config, signers, publications, slots, backends, now: clock() })
  const reconciliation = await compareBackends(request)
  const sbom = await readSbom()
  const log = config.key_log ? await readKeyLog(keyLog) : undefined
  const files = [
    ...parts.files,
    await folder.write(partNames.keys, packJson(inventory)),
    await folder.write(partNames.reconciliation, packJson(reconciliation)),
    ...(log === undefined ? [] : [await folder.write(partNames.keyLog, packJson(await proveKeyLog(log, request)))]),
    ...(sbom === undefined ? [] : [await folder.write(partNames.sbom, sbom)]),
  ]
  const authority = authorityOf(checked)
  const head = {
    ...{ format: packFormat, ...build, issuer: config.issuer },
    range: { from: isoTime(request.from), to: isoTime(request.to) },
    ...{ made_at: isoTime(clock()), made_by: request.by },
    ...(authority !== undefined && { timestamp_authority: authority }),
  }
  files.push(await folder.write(partNames.page, await renderPage(request.folder, { ...head, files }, proved)))
  const manifest: Manifest = { ...head, files }
  const text = packJson(manifest)
  const signature = await signer.sign(text)
  const stamped = await stamp(checked, signature)
  if (stamped !== undefined) {
    await folder.write(sealNames.query, stamped.query)
    await folder.write(sealNames.timestamp, stamped.response)
  }
  await folder.write(sealNames.manifest, text)
  await folder.seal(sealNames.signature, signature)
  const digest = createHash('sha256').update(text).digest('base64url')
  return { manifest, digest, extract: proved, inventory, reconciliation }
}
