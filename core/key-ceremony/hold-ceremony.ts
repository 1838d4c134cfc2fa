import { randomUUID } from 'node:crypto'
import { ConfigurationError } from '../../config/problems.js'
import { change, type Administration, type NoteChange, type Operator } from '../administration/administration.js'
import { isoTime } from '../clock.js'
import { collections } from '../collections/collections.js'
import { KeyRefused, type BackendFacts } from '../keys/ports.js'
import type { SlotKey } from '../keys/slots/slot.js'
import { askSigner, callMs, proofs } from '../keys/slots/take-step.js'
import { build } from '../package-root.js'
import { Unavailable } from '../unavailable.js'
import { openAuditRing, type AuditRing } from '../keys/slots/audit-ring.js'
import type { CeremonyFile } from './ceremony-file.js'
import { CeremonyRefused } from './ceremony-refused.js'
import { makeKey } from './make-key.js'
import { prepareCeremony, type PreparedCeremony, type PrepareOptions } from './prepare-ceremony.js'
import { signTranscript } from './sign-transcript.js'
import { isTakenIn } from './subject.js'
import { describePublicKey, digestsOf, type Confirmation, type MadeKey, type Transcript } from './transcript.js'
import { renderTranscript } from './transcript-text.js'

/** The facts that people see before they confirm. */
export interface CeremonyPlan extends Pick<Transcript, 'title' | 'place' | 'remarks' | 'issuer' | 'dry_run' | 'key'> {
  readonly present: CeremonyFile['present']
  readonly backend: BackendFacts
  /** The key that signs the transcript. Absent: the new one. */
  readonly auditor?: { readonly kid: string; readonly alg: string }
}

export interface HoldOptions extends PrepareOptions {
  readonly dryRun: boolean
  /** The SHA-256 of the file as it is now. */
  readonly reread: () => Promise<string>
  /** Shows the plan and asks each person. Throws `CeremonyRefused` when one does not confirm. */
  readonly confirm: (plan: CeremonyPlan) => Promise<readonly Confirmation[]>
}

export interface HeldCeremony {
  readonly transcript: Transcript
  readonly text: string
  /** Tells whether the transcript is signed. A rehearsal for the first key for auditors has nobody to sign it. */
  readonly signed: boolean
  /** The entry of a fixed key for the configuration. */
  readonly entry?: Pick<SlotKey, 'kid' | 'alg' | 'signer' | 'ref' | 'purposes'>
}

type Base = Omit<Transcript, 'made' | 'digests' | 'ended_at' | 'present'>

const describeKey = ({ subject }: PreparedCeremony, { config }: Administration): Transcript['key'] => {
  const { form, slot, kid, name, begun } = subject
  const { alg, purposes, signer } = form
  const module = config.signers[signer]?.use ?? ''
  const inSlot = slot !== undefined && { slot: slot.slot }
  return { kid, ...inSlot, alg, purposes, signer, module, name, resumed: begun !== undefined }
}

const baseOf = (
  prepared: PreparedCeremony,
  administration: Administration,
  by: Operator,
  { dryRun, reading }: HoldOptions,
): Base => {
  const { title, place, remarks, show } = prepared.file
  const said = Object.fromEntries(Object.entries({ title, place, remarks }).filter(([, text]) => text !== undefined))
  return {
    ...{ format: 'signet key ceremony', version: 1, id: randomUUID(), dry_run: dryRun },
    ...{ issuer: administration.config.issuer, signet: [build.version, build.commit].filter(Boolean).join(' ') },
    ...{ began_at: isoTime(administration.clock()), ...said, file_sha256: reading.sha256, operator: by },
    key: describeKey(prepared, administration),
    ...(prepared.facts !== undefined && { backend: prepared.facts }),
    show,
  }
}

const describeMade = async ({ provider, subject }: PreparedCeremony, key: SlotKey, now: number): Promise<MadeKey> => {
  const { jwk, thumbprint, ref = key.name } = key
  if (jwk === undefined || thumbprint === undefined) throw new KeyRefused('the key was not proved')
  const inspect = provider.inspect?.bind(provider)
  const never = new AbortController().signal
  const attributes = inspect && (await askSigner(subject.form, callMs, never, (limit) => inspect(ref, limit)))
  return {
    ...{ ref, made_at: isoTime(now), public_key: describePublicKey(jwk, thumbprint) },
    ...(attributes !== undefined && { attributes }),
    verified_signatures: proofs,
  }
}

/** The first key for auditors signs for itself. */
const openOwnRing = (
  { backends, publications }: PreparedCeremony,
  { config, clock, audit }: Administration,
  { kid, alg, signer, purposes, name, ref = name }: SlotKey,
): Promise<AuditRing> => {
  const entry = { path: 'kid', kid, alg, signer, purposes: [...purposes], ref, allow_early: false }
  return openAuditRing({ ...backends, config, keys: [entry], publications, clock, audit })
}

/** Writes all forms of a transcript, and returns what the command prints of it. */
const writeTranscript = async (
  prepared: PreparedCeremony,
  administration: Administration,
  transcript: Transcript,
  ring: AuditRing | undefined,
): Promise<Pick<HeldCeremony, 'transcript' | 'text' | 'signed'>> => {
  const json = `${JSON.stringify(transcript, null, 2)}\n`
  const text = renderTranscript(transcript)
  const jwt = ring && (await signTranscript(ring, transcript, { json, text }, administration.audit))
  const signed = jwt === undefined ? undefined : { 'transcript.jwt': `${jwt}\n` }
  await prepared.folder.write({ 'transcript.json': json, 'transcript.txt': text, ...signed })
  return { transcript, text, signed: jwt !== undefined }
}

const make = async (
  prepared: PreparedCeremony,
  administration: Administration,
  before: Omit<Transcript, 'made' | 'digests' | 'ended_at'>,
): Promise<HeldCeremony> => {
  const { config, clock, stores } = administration
  const { subject, provider, publications, auditRing } = prepared
  let held: HeldCeremony | undefined
  const attest = async (key: SlotKey): Promise<void> => {
    const made = await describeMade(prepared, key, clock())
    const parts = { ...before, made }
    const transcript = { ...parts, ended_at: isoTime(clock()), digests: digestsOf(parts) }
    const own = auditRing === undefined ? await openOwnRing(prepared, administration, key) : undefined
    try {
      held = await writeTranscript(prepared, administration, transcript, auditRing ?? own)
    } finally {
      await own?.ring[Symbol.asyncDispose]()
    }
  }
  const { kid, alg, signer, purposes, ref } = await makeKey(subject, {
    ...{ store: collections(stores).keySlots, clock, deployment: config.issuer, provider, attest },
    ...{ isTaken: isTakenIn(config, publications), signal: new AbortController().signal },
  })
  if (held === undefined) throw new CeremonyRefused('The key was made, but there is no transcript of it.')
  return {
    ...held,
    ...(subject.slot === undefined && ref !== undefined && { entry: { kid, alg, signer, ref, purposes } }),
  }
}

const rehearse = (
  prepared: PreparedCeremony,
  administration: Administration,
  before: Omit<Transcript, 'made' | 'digests' | 'ended_at'>,
): Promise<HeldCeremony> => {
  const transcript = { ...before, ended_at: isoTime(administration.clock()), digests: digestsOf(before) }
  return writeTranscript(prepared, administration, transcript, prepared.auditRing)
}

const hold = async (
  administration: Administration,
  by: Operator,
  options: HoldOptions,
  note: NoteChange,
): Promise<HeldCeremony> => {
  await using prepared = await prepareCeremony(administration, options)
  const base = baseOf(prepared, administration, by, options)
  const { auditRing, facts = {} } = prepared
  const auditor = auditRing?.ring.signingKey('audit', auditRing.alg)
  const plan = { ...base, present: prepared.file.present, backend: facts, ...(auditor && { auditor }) }
  const present = await options.confirm(plan)
  if ((await options.reread()) !== options.reading.sha256)
    throw new CeremonyRefused('The file of the ceremony was changed after it was shown: no key was made.')
  const held = await (options.dryRun ? rehearse : make)(prepared, administration, { ...base, present })
  const { transcript } = held
  const thumbprint = transcript.made?.public_key.thumbprint
  note({ kid: transcript.key.kid, transcript: transcript.id, ...(thumbprint !== undefined && { thumbprint }) })
  return held
}

const reasonOf = (error: unknown): string =>
  [ConfigurationError, CeremonyRefused, KeyRefused, Unavailable].some((kind) => error instanceof kind)
    ? (error as Error).message
    : 'the ceremony failed'

/**
 * Holds a ceremony: looks at everything, lets the people confirm, makes and proves the key, and writes the transcript
 * before anything may use the key. Each one is in the audit log, refused ones with the reason. What an interrupted one
 * has made is taken up by the next. Throws `ConfigurationError`, `CeremonyRefused`, `KeyRefused`, `Unavailable`.
 */
export const holdCeremony = async (
  administration: Administration,
  by: Operator,
  options: HoldOptions,
): Promise<HeldCeremony> => {
  const { slot, kid, signer, present } = options.reading.file
  const named = present?.flatMap((one) => (one?.name === undefined ? [] : [one.name]))
  const about = {
    ...(slot !== undefined && { slot }),
    ...(kid !== undefined && { kid }),
    ...(signer !== undefined && { signer }),
    ...(named !== undefined && { present: named }),
    ...(options.dryRun && { dry_run: true }),
  }
  try {
    const what = { action: 'key.ceremony', ...about }
    return await change(administration, by, what, (note) => hold(administration, by, options, note))
  } catch (error) {
    await administration.audit.record({ event: 'key.ceremony_refused', ...about, reason: reasonOf(error), by })
    throw error
  }
}
