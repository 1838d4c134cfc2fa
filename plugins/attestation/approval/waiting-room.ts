import { hash, randomInt, randomUUID } from 'node:crypto'
import { Unavailable, type Clock, type JsonObject } from '../../../core/api/index.js'
import { principalDigest, type EnrolmentContext, type WaitingEnrolment } from '../../../core/api/attestation.js'
import type { RecordStore, ReplayGuard } from '../../../core/api/storage.js'
import { addressBucket } from '../../../core/api/internal.js'

export interface WaitingRoomOptions {
  readonly records: RecordStore<JsonObject>
  readonly claims: ReplayGuard
  readonly clock: Clock
  readonly expiresSeconds: number
  readonly deniedSeconds: number
  readonly maxPerPrincipal: number
  readonly maxPerAddress: number
  readonly maxWaiting: number
}

/** The state of an enrolment that asks for approval. */
export type ApprovalState =
  | { readonly state: 'waiting' | 'denied' | 'full' }
  /** With the message that the person saw. True for the first caller that uses it. */
  | { readonly state: 'approved'; readonly attributes: JsonObject; use(): Promise<boolean> }

interface Waiting extends WaitingEnrolment {
  /** A digest of everything that was asked for: any difference makes it another enrolment. */
  readonly digest: string
  /** Identifies one period of waiting. A decision applies to this one and to none that follows. */
  readonly stay: string
  /** The slots that it occupies. */
  readonly places: readonly string[]
  /** Milliseconds since the epoch. */
  readonly expiresAt: number
  readonly denied?: boolean
}

type Decision = 'approve' | 'deny'

const waitingId = (id: string): string => `approval:waiting:${id}`
const decisionId = (stay: string): string => `approval:decision:${stay}`

/** Members sorted at every depth, so that the order in which a client writes them does not matter. */
const canonical = (value: unknown): unknown => {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(canonical)
  const members = Object.entries(value).toSorted(([left], [right]) => (left < right ? -1 : 1))
  return Object.fromEntries(members.map(([name, inner]) => [name, canonical(inner)]))
}

const digestOf = ({ principal, jkt, attributes }: EnrolmentContext, message: string): string =>
  hash('sha256', JSON.stringify([principalDigest(principal), jkt, canonical(attributes), message]))

const findWaiting = async ({ records }: WaitingRoomOptions, id: string): Promise<Waiting | undefined> =>
  (await records.find(waitingId(id))) as Waiting | undefined

const findDecision = async ({ records }: WaitingRoomOptions, stay: string): Promise<Decision | undefined> =>
  (await records.find(decisionId(stay)))?.['decision'] as Decision | undefined

/** Takes a free slot among the numbered ones under a prefix. Undefined if all are taken. */
const takeSlot = async (
  { records, expiresSeconds }: WaitingRoomOptions,
  prefix: string,
  places: number,
): Promise<string | undefined> => {
  const idOf = (place: number): string => `${prefix}${String(place).padStart(6, '0')}`
  const take = (id: string): Promise<boolean> => records.put(id, {}, { ttlSeconds: expiresSeconds, onlyIfAbsent: true })
  // Few slots are usually taken, so a random guess avoids reading all of them at each request.
  const guess = idOf(randomInt(places))
  if (await take(guess)) return guess
  const taken = new Set((await records.list(prefix, places)).map(({ id }) => id))
  const free = Array.from({ length: places }, (_, place) => idOf(place)).filter((id) => !taken.has(id))
  // Starts at a random one, so that concurrent callers do not all try the same slot.
  const start = free.length === 0 ? 0 : randomInt(free.length)
  for (const id of [...free.slice(start), ...free.slice(0, start)]) if (await take(id)) return id
  return undefined
}

const leave = async ({ records }: WaitingRoomOptions, places: readonly string[]): Promise<void> => {
  await Promise.all(places.map((place) => records.remove(place)))
}

/** Takes one slot of each kind that an enrolment needs. Undefined, with nothing taken, if one kind has none. */
const takeSlots = async (options: WaitingRoomOptions, context: EnrolmentContext, address: string | undefined) => {
  const kinds: (readonly [prefix: string, places: number])[] = [
    ...(address === undefined ? [] : [[`approval:address:${address}:`, options.maxPerAddress] as const]),
    [`approval:place:${principalDigest(context.principal)}:`, options.maxPerPrincipal],
    ['approval:places:', options.maxWaiting],
  ]
  const taken: string[] = []
  for (const [prefix, places] of kinds) {
    const place = await takeSlot(options, prefix, places)
    if (place === undefined) {
      await leave(options, taken)
      return undefined
    }
    taken.push(place)
  }
  return taken
}

const enter = async (
  options: WaitingRoomOptions,
  id: string,
  digest: string,
  context: EnrolmentContext,
  message: string,
): Promise<ApprovalState> => {
  const { records, clock, expiresSeconds } = options
  const { principal, jkt, attributes } = context
  const address = addressBucket(context.address)
  const places = await takeSlots(options, context, address)
  if (places === undefined) return { state: 'full' }
  const now = clock()
  const waiting: Waiting = {
    ...{ id, principal, jkt, attributes, message, digest, stay: randomUUID(), places },
    ...(address !== undefined && { address }),
    ...{ requestedAt: Math.floor(now / 1000), expiresAt: now + expiresSeconds * 1000 },
  }
  const record = waiting as unknown as JsonObject
  const entered = await records.put(waitingId(id), record, { ttlSeconds: expiresSeconds, onlyIfAbsent: true })
  // The same request came twice at once: one of them waits.
  if (!entered) await leave(options, places)
  return { state: 'waiting' }
}

/** Of the callers that use or revoke an approval, one gets true. */
const claim = ({ claims, clock }: WaitingRoomOptions, { stay, expiresAt }: Waiting): Promise<boolean> =>
  claims.claim('approval', stay, Math.max(1, Math.ceil((expiresAt - clock()) / 1000) + 1))

const approved = (options: WaitingRoomOptions, waiting: Waiting): ApprovalState => ({
  state: 'approved',
  attributes: waiting.attributes,
  async use() {
    if (!(await claim(options, waiting))) return false
    // It counts as used, whatever happens to the remains.
    await Promise.all([options.records.remove(waitingId(waiting.id)), leave(options, waiting.places)]).catch(
      (error: unknown) => {
        if (!(error instanceof Unavailable)) throw error
      },
    )
    return true
  },
})

const ask = async (options: WaitingRoomOptions, context: EnrolmentContext, message: string): Promise<ApprovalState> => {
  const digest = digestOf(context, message)
  const id = digest.slice(0, 16)
  const waiting = await findWaiting(options, id)
  if (waiting === undefined) return enter(options, id, digest, context, message)
  // Someone went to great lengths to find another request with this id.
  if (waiting.digest !== digest) return { state: 'full' }
  if (waiting.denied) return { state: 'denied' }
  const decision = await findDecision(options, waiting.stay)
  if (decision === 'approve') return approved(options, waiting)
  return { state: decision === 'deny' ? 'denied' : 'waiting' }
}

const list = async (options: WaitingRoomOptions): Promise<readonly WaitingEnrolment[]> => {
  const { records } = options
  const found: Waiting[] = []
  const prefix = waitingId('')
  let page = await records.list(prefix, 100)
  while (page.length > 0) {
    const own = page.filter(({ id }) => id.startsWith(prefix))
    found.push(...own.map(({ record }) => record as unknown as Waiting))
    page = own.length < page.length ? [] : await records.list(page.at(-1)?.id, 100)
  }
  const listed = found.map(async ({ stay, denied, digest: _digest, places: _places, expiresAt: _end, ...shown }) => {
    const decision = denied ? 'deny' : await findDecision(options, stay)
    return decision === 'deny' ? [] : [{ ...shown, ...(decision && { approved: true }) }]
  })
  return (await Promise.all(listed)).flat()
}

const decide = async (options: WaitingRoomOptions, id: string, decision: Decision): Promise<boolean> => {
  const { records, clock, deniedSeconds } = options
  const waiting = /^[0-9a-f]{16}$/.test(id) ? await findWaiting(options, id) : undefined
  if (waiting === undefined || waiting.denied) return false
  const leftSeconds = Math.ceil((waiting.expiresAt - clock()) / 1000)
  if (leftSeconds <= 0) return false
  const ttlSeconds = decision === 'approve' ? leftSeconds : Math.max(leftSeconds, deniedSeconds)
  const first = await records.put(decisionId(waiting.stay), { decision }, { ttlSeconds, onlyIfAbsent: true })
  if (!first) {
    const isRevoked = decision === 'deny' && (await findDecision(options, waiting.stay)) === 'approve'
    if (!isRevoked || !(await claim(options, waiting))) return false
  }
  if (decision === 'deny') {
    const denied = { ...waiting, denied: true } as unknown as JsonObject
    await records.put(waitingId(id), denied, { ttlSeconds: deniedSeconds })
    await leave(options, waiting.places)
  }
  return true
}

/** Enrolments that wait for a person, and the decisions. Every step that must happen once is one step of the store. */
export const createWaitingRoom = (options: WaitingRoomOptions) => ({
  ask: (context: EnrolmentContext, message: string) => ask(options, context, message),
  list: () => list(options),
  decide: (id: string, decision: Decision) => decide(options, id, decision),
})
