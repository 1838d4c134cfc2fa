import type { Config } from '../../config/schema.js'
import { ConfigurationError, type Problem } from '../../config/problems.js'
import type { Administration } from '../administration/administration.js'
import { collections } from '../collections/collections.js'
import { readPublications, type KeyPublications } from '../keys/lifecycle/publications.js'
import { KeyRefused, type BackendFacts, type SignerProvider } from '../keys/ports.js'
import { situationOf } from '../keys/slots/situation.js'
import type { SlotRecord } from '../keys/slots/slot.js'
import { readReports, readSlots } from '../keys/slots/slot-store.js'
import { askSigner, callMs } from '../keys/slots/take-step.js'
import { findAuditKeys, openAuditRing, type AuditRing } from '../keys/slots/audit-ring.js'
import { openBackends, type Backends, type BackendsOptions } from './backends.js'
import { FolderRefused, openFolder, type CeremonyFolder } from './ceremony-folder.js'
import type { CeremonyFile, CeremonyReading } from './ceremony-file.js'
import { findSubject, type Subject } from './subject.js'

/** A ceremony that may begin: everything was looked at, and nothing was made. */
export interface PreparedCeremony extends AsyncDisposable {
  readonly file: CeremonyFile
  readonly subject: Subject
  readonly provider: SignerProvider
  readonly backends: Backends
  readonly publications: KeyPublications
  readonly facts: BackendFacts | undefined
  /** Absent when the new key is the first one with the purpose `audit`, and signs for itself. */
  readonly auditRing: AuditRing | undefined
  readonly folder: CeremonyFolder
}

export interface PrepareOptions extends Omit<BackendsOptions, 'config' | 'audit'> {
  readonly reading: CeremonyReading
  /** The path of the folder for the transcript. */
  readonly out: string
}

interface Known {
  readonly publications: KeyPublications
  readonly records: ReadonlyMap<string, SlotRecord>
}

const readKnown = async ({ stores, config, clock }: Administration) => {
  const kept = collections(stores)
  const publications = await readPublications(kept.publications)
  const records = await readSlots(kept.keySlots)
  const reports = await readReports(kept.replicas)
  const now = clock()
  const known = { records, reports, publications, readAt: now }
  return {
    publications,
    records,
    situation: (slot: NonNullable<Subject['slot']>) => situationOf(config, slot, known, now),
  }
}

/** The first key with the purpose `audit` may sign its own transcript. */
const checkAuditKey = (
  config: Config,
  { records }: Known,
  subject: Subject | undefined,
  named: CeremonyReading['file']['purposes'],
): readonly Problem[] => {
  const isThere = findAuditKeys(config, records).length > 0
  if (isThere || (subject?.form.purposes ?? named)?.includes('audit') === true) return []
  if (!config.keys.some(({ purposes }) => purposes.includes('audit')))
    return [{ path: '', message: 'the configuration has no key with the purpose audit, which signs the transcript' }]
  // A slot that could not be found may be that of the key for auditors.
  if (subject === undefined) return []
  return [{ path: '', message: 'the key with the purpose audit, which signs the transcript, is not made yet' }]
}

const never = new AbortController().signal

/** Tells whether the backend can make the key, and has none of its name that no ceremony made. */
const checkBackend = async (
  provider: SignerProvider | undefined,
  { form, slot, begun, name }: Subject,
): Promise<readonly Problem[]> => {
  const find = provider?.find?.bind(provider)
  if (provider?.create === undefined || find === undefined)
    return [{ path: 'signer', message: 'this signer cannot make and find keys' }]
  if (begun !== undefined && (begun.attempts > 0 || begun.step === 'made')) return []
  // The member of the file from which the name in the backend comes.
  const path = slot === undefined ? 'ref' : 'slot'
  try {
    const found = await askSigner(form, callMs, never, (limit) => find(name, limit))
    return found.length === 0 ? [] : [{ path, message: `the backend already has a key with the name ${name}` }]
  } catch (error) {
    if (error instanceof KeyRefused) return [{ path, message: error.message }]
    throw error
  }
}

const tryFolder = async (path: string): Promise<{ folder?: CeremonyFolder; problems: readonly Problem[] }> => {
  try {
    return { folder: await openFolder(path), problems: [] }
  } catch (error) {
    if (error instanceof FolderRefused) return { problems: [{ path: '--out', message: error.message }] }
    throw error
  }
}

const openAll = async (
  administration: Administration,
  subject: Subject,
  known: Known,
  options: PrepareOptions,
): Promise<{ readonly backends: Backends; readonly auditKeys: ReturnType<typeof findAuditKeys> }> => {
  const { config, audit } = administration
  const auditKeys = findAuditKeys(config, known.records)
  const names = new Set([subject.form.signer, ...auditKeys.map(({ signer }) => signer)])
  return { backends: await openBackends(names, { ...options, config, audit }), auditKeys }
}

/**
 * Looks at everything on which a ceremony depends. Throws `ConfigurationError` with all problems of its file, and
 * `Unavailable` when the store, the backend or the key for auditors is away.
 */
export const prepareCeremony = async (
  administration: Administration,
  options: PrepareOptions,
): Promise<PreparedCeremony> => {
  const { config, clock, audit } = administration
  const { reading, out } = options
  const known = await readKnown(administration)
  const { subject, problems: found } = findSubject(reading.file, config, known)
  const { folder, problems: unwritable } = await tryFolder(out)
  const problems = [
    ...reading.problems,
    ...reading.locate(found),
    ...checkAuditKey(config, known, subject, reading.file.purposes),
    ...unwritable,
  ]
  let backends: Backends | undefined
  let auditRing: AuditRing | undefined
  const close = async (): Promise<void> => {
    await auditRing?.ring[Symbol.asyncDispose]()
    await backends?.[Symbol.asyncDispose]()
    await folder?.close()
  }
  try {
    // A faulty file may not say which signer is meant.
    if (subject === undefined || reading.problems.length > 0 || config.signers[subject.form.signer] === undefined)
      throw new ConfigurationError(problems)
    const opened = await openAll(administration, subject, known, options)
    backends = opened.backends
    const { providers, inProcess } = backends
    const provider = providers.get(subject.form.signer)
    problems.push(...reading.locate(await checkBackend(provider, subject)))
    if (problems.length > 0 || provider === undefined || folder === undefined) throw new ConfigurationError(problems)
    if (opened.auditKeys.length > 0)
      auditRing = await openAuditRing({ ...known, config, keys: opened.auditKeys, providers, inProcess, clock, audit })
    const ask = provider.facts?.bind(provider)
    const facts = ask && (await askSigner(subject.form, callMs, never, ask))
    const file = reading.file as CeremonyFile
    const { publications } = known
    return { file, subject, provider, backends, publications, facts, auditRing, folder, [Symbol.asyncDispose]: close }
  } catch (error) {
    await close()
    throw error
  }
}
