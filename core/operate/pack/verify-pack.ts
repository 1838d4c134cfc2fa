import { build } from '../../package-root.js'
import { parseStrictJsonObject } from '../../../libraries/wire/strict-json.js'
import { parseAuditLine } from '../../observe/audit-verify.js'
import { createSignatureCounter } from '../count-signatures.js'
import { checkTimeStamp } from '../time-stamps/check-time-stamp.js'
import { verifyExtract, type ExtractFaults } from './audit-extract.js'
import { createOperatorCollector, isChange } from './operators.js'
import { packJson, partNames, sealNames, type ChainProof, type Manifest } from './pack.js'
import { verifyPackSignature, type PackSigned } from './pack-signature.js'
import { maxJsonBytes, PackReport, parseJson, type PackFinding } from './pack-report.js'
import { renderPage } from './page.js'
import { checkKeyLog, checkKeys } from './verify-keys.js'
import { neededParts, parseChain, parseManifest } from './read-manifest.js'
import { findChange, listFolder, readWhole, withLines } from './sealed-files.js'

export interface PackVerification {
  readonly manifest?: Manifest
  readonly signed?: Omit<PackSigned, 'payload'>
  readonly timestamp?: { readonly time: string; readonly authority?: string }
  /** Empty if the pack is as it was made. */
  readonly findings: readonly PackFinding[]
  /** Checks that were not possible here, and values to compare by hand. */
  readonly notes: readonly string[]
}

export interface VerifyPackOptions {
  /** Public keys of the deployment, as parsed. Absent: the pack's own key is used, and its thumbprint shown. */
  readonly keys?: readonly unknown[]
  /** Certificates in PEM that time stamps must lead to. */
  readonly timestampAnchors?: string
}

const maxSealBytes = 64 * 1024
/** Authorities may have another clock, and tell seconds alone. */
const clockSlackMs = 60_000

/** Verifies the signature, and finds the manifest that the rest is checked by. */
const checkSeal = async (folder: string, options: VerifyPackOptions, report: PackReport) => {
  const { manifest: manifestName, signature } = sealNames
  const bytes = await report.check(manifestName, () => readWhole(folder, manifestName, maxSealBytes))
  const jws = await report.check(signature, () => readWhole(folder, signature, maxSealBytes))
  const signed = jws === undefined ? undefined : await verifyPackSignature(jws.toString('latin1'), options.keys)
  if (typeof signed === 'string') report.find(signed, signature)
  const isSigned = typeof signed === 'object'
  if (isSigned && bytes !== undefined && !signed.payload.equals(bytes))
    report.find('is not the manifest that was signed', manifestName)
  const text = isSigned ? signed.payload : bytes
  const manifest = text === undefined ? undefined : parseManifest(parseStrictJsonObject(text))
  if (text !== undefined && manifest === undefined)
    report.find('is not a manifest of a format that this version knows', manifestName)
  return { manifest, jws, ...(isSigned && { signed }) }
}

/** Every file is there, as it was, and no other. */
const checkFiles = async (folder: string, { files }: Manifest, report: PackReport): Promise<void> => {
  for (const file of files) {
    const change = await report.check(file.name, () => findChange(folder, file))
    if (change !== undefined) report.find(change, file.name)
  }
  const known = new Set<string>([...files.map(({ name }) => name), ...Object.values(sealNames)])
  for (const name of neededParts) if (!known.has(name)) report.find('is not in the manifest', name)
  for (const name of await listFolder(folder)) if (!known.has(name)) report.find('is not in the manifest', name)
}

const checkRange = ({ range }: Manifest, times: readonly string[], report: PackReport): void => {
  const [from, to] = [Date.parse(range.from), Date.parse(range.to)]
  const isInside = (time: string | undefined): boolean =>
    time === undefined || (Date.parse(time) >= from && Date.parse(time) < to)
  if (!isInside(times[0]) || !isInside(times.at(-1)))
    report.find('does not begin and end within the range', partNames.audit)
}

interface Derived {
  readonly operators: string
  readonly signatures: string
}

/** Reads the lines once more, for what the other files say of them. */
const derive = (folder: string, manifest: Manifest, report: PackReport): Promise<Derived> =>
  withLines(folder, partNames.audit, (lines) =>
    withLines(folder, partNames.changes, async (changes) => {
      const operators = createOperatorCollector()
      const counter = createSignatureCounter()
      const ends: string[] = []
      let isSame = true
      for await (const text of lines) {
        const line = parseAuditLine(text)
        if (line === undefined) continue
        const { time } = line
        if (typeof time === 'string') ends[ends.length === 0 ? 0 : 1] = time
        counter.add(line)
        if (!isChange(line)) continue
        operators.add(line)
        const next = await changes.next()
        if (next.done === true || next.value !== text) isSame = false
      }
      if (!isSame || (await changes.next()).done !== true)
        report.find('does not have the changes of the audit log', partNames.changes)
      checkRange(manifest, ends, report)
      return { operators: packJson(operators.seen()), signatures: packJson(counter.counts()) }
    }),
  )

const checkDerived = async (folder: string, derived: Derived, report: PackReport): Promise<void> => {
  for (const part of ['operators', 'signatures'] as const) {
    const name = partNames[part]
    const bytes = await report.check(name, () => readWhole(folder, name, maxJsonBytes))
    if (bytes !== undefined && bytes.toString('utf8') !== derived[part])
      report.find('is not what the audit log says', name)
  }
}

const checkChain = async (
  folder: string,
  report: PackReport,
): Promise<{ chain: ChainProof; extract: ExtractFaults } | undefined> => {
  const bytes = await report.check(partNames.chain, () => readWhole(folder, partNames.chain, maxJsonBytes))
  const chain = bytes && parseChain(parseJson(bytes))
  if (bytes !== undefined && chain === undefined) report.find('is not the proof of a chain', partNames.chain)
  if (chain === undefined) return undefined
  const extract = await report.check(partNames.audit, () =>
    withLines(folder, partNames.audit, (lines) => verifyExtract(lines, chain)),
  )
  if (extract === undefined) return undefined
  for (const fault of extract.faults) report.find(fault, partNames.audit)
  if (extract.open.length > 0)
    report.notes.push(
      `no later line proves the last line of ${extract.open.length === 1 ? 'one process' : `${String(extract.open.length)} processes`}: the signature alone does`,
    )
  return { chain, extract }
}

const checkPage = async (
  folder: string,
  manifest: Manifest,
  extract: ExtractFaults,
  report: PackReport,
): Promise<void> => {
  const { files, ...head } = manifest
  if (manifest.version !== build.version || manifest.commit !== build.commit)
    return void report.notes.push(
      `index.html was not compared with the files: version ${manifest.version}${manifest.commit === undefined ? '' : ` (${manifest.commit})`} has made it`,
    )
  if (files.some(({ name, bytes }) => !name.endsWith('.jsonl') && bytes > maxJsonBytes))
    return void report.notes.push('index.html was not compared with the files: one is too large')
  const shown = await report.check(partNames.page, () => readWhole(folder, partNames.page, maxJsonBytes))
  const others = files.filter(({ name }) => name !== partNames.page)
  const page = await renderPage(folder, { ...head, files: others }, extract).catch(() => undefined)
  if (shown !== undefined && shown.toString('utf8') !== page)
    report.find('does not show what the files say', partNames.page)
}

const checkStamp = async (
  folder: string,
  manifest: Manifest,
  jws: Buffer,
  { timestampAnchors }: VerifyPackOptions,
  report: PackReport,
): Promise<PackVerification['timestamp']> => {
  const { query: queryName, timestamp } = sealNames
  const names = new Set(await listFolder(folder))
  if (manifest.timestamp_authority === undefined && !names.has(timestamp)) {
    report.notes.push('the pack has no time stamp')
    return undefined
  }
  const query = await report.check(queryName, () => readWhole(folder, queryName, maxSealBytes))
  const response = await report.check(timestamp, () => readWhole(folder, timestamp, maxSealBytes))
  if (query === undefined || response === undefined) return undefined
  const { time, authority, faults } = await checkTimeStamp({ query, response }, jws, timestampAnchors)
  for (const fault of faults) report.find(fault, timestamp)
  if (timestampAnchors === undefined) report.notes.push('whose time stamp it is was not checked: use --timestamp-ca')
  if (time !== undefined && Date.parse(time) + clockSlackMs < Date.parse(manifest.range.to))
    report.find('is from before the end of the range', timestamp)
  return time === undefined ? undefined : { time, ...(authority !== undefined && { authority }) }
}

/**
 * Verifies a pack from its folder alone: signature, digests, chain, counts, keys, page and time stamp. Nothing in it is
 * trusted, followed, unpacked or shown as it is. Throws the system's error when the folder cannot be read.
 */
export const verifyPack = async (folder: string, options: VerifyPackOptions): Promise<PackVerification> => {
  const report = new PackReport()
  await listFolder(folder)
  const { manifest, jws, signed } = await checkSeal(folder, options, report)
  const { findings, notes } = report
  if (manifest === undefined) return { findings, notes }
  await checkFiles(folder, manifest, report)
  const chain = await checkChain(folder, report)
  const derived = await report.check(partNames.changes, () => derive(folder, manifest, report))
  if (derived !== undefined) await checkDerived(folder, derived, report)
  const keys = await checkKeys(folder, report)
  await checkKeyLog(folder, manifest, options.keys ?? [], keys, report)
  if (chain !== undefined && findings.length === 0) await checkPage(folder, manifest, chain.extract, report)
  const timestamp = jws && (await checkStamp(folder, manifest, jws, options, report))
  if (signed !== undefined && options.keys === undefined)
    notes.push(`whose signature it is was not checked: compare the thumbprint, or use --key`)
  if (!manifest.files.some(({ name }) => name === partNames.sbom)) notes.push('the pack has no bill of materials')
  return {
    manifest,
    ...(signed && { signed: { kid: signed.kid, alg: signed.alg, thumbprint: signed.thumbprint } }),
    ...(timestamp && { timestamp }),
    findings,
    notes,
  }
}
