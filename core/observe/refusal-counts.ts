import type { AuditEvent, AuditEventName } from './audit.js'

/** Refusals that agree in all of these share a line. */
export interface RefusalKind {
  readonly event: AuditEventName
  readonly error?: string | undefined
  readonly error_code?: string | undefined
  readonly reason?: string | undefined
  /** How a client tried to authenticate, and how it is registered. */
  readonly client_auth_method?: string | undefined
  readonly registered_auth_method?: string | undefined
  /** The method used in a sign-in attempt. */
  readonly method?: string | undefined
  /** The account that a sign-in attempt named. */
  readonly sub?: string | undefined
}

/** The sender of a request, as far as it is known without proof. */
export interface RefusedCaller {
  /** An address bucket. Undefined when callers have none. */
  readonly address: string | undefined
  /** A client that exists and that the request named. */
  readonly clientId: string | undefined
}

/** Lines per address and second. */
const maxLinesOfAddress = 10
/** Lines per second for all addresses. */
const maxLines = 200
/** Kinds that are counted separately, for all addresses. */
const maxKinds = 10_000
const maxClients = 8

/** Refusals that share a line. */
class KindCount {
  readonly kind: RefusalKind
  readonly #clients = new Set<string>()
  count = 0

  constructor(kind: RefusalKind) {
    this.kind = kind
  }

  add({ clientId }: Pick<RefusedCaller, 'clientId'>): void {
    this.count++
    this.#remember(clientId)
  }

  merge(other: KindCount): void {
    this.count += other.count
    for (const clientId of other.#clients) this.#remember(clientId)
  }

  lineFor(address: string | undefined): AuditEvent {
    const [one, another] = this.#clients
    const clients = another === undefined ? { claimed_client_id: one } : { claimed_client_ids: [...this.#clients] }
    return { ...this.kind, address, ...clients, count: this.count }
  }

  #remember(clientId: string | undefined): void {
    if (clientId !== undefined && this.#clients.size < maxClients) this.#clients.add(clientId)
  }
}

/** One address: its number of lines in this second, and its counts by kind. */
interface Caller {
  lines: number
  kinds: Map<string, KindCount>
}

/** Kinds beyond the number of lines are counted as one. */
const others = (): KindCount => new KindCount({ event: 'request.refused', reason: 'other' })

/**
 * Counts refusals of unauthenticated callers, so that lines grow with the number of kinds and not of requests: the
 * first of a kind is a line at once, and the following ones share a line each second, with their `count`. An address
 * may have 10 lines a second and all addresses together 200; anything beyond is counted under `request.refused`.
 */
export class RefusalCounts {
  #callers = new Map<string | undefined, Caller>()
  /** Counts for addresses that have no line left. */
  #others = others()
  #kinds = 0
  #lines = 0

  /** Whether nothing is counted or remembered. */
  get isEmpty(): boolean {
    return this.#callers.size === 0 && this.#others.count === 0
  }

  /** Counts one refusal. Returns `true`, without counting it, for the first of its kind when a line is left for it. */
  add(kind: RefusalKind, caller: RefusedCaller): boolean {
    const key = JSON.stringify(kind)
    const known = this.#callers.get(caller.address)?.kinds.get(key)
    if (known !== undefined) {
      known.add(caller)
      return false
    }
    if (this.#kinds >= maxKinds) {
      this.#others.add(caller)
      return false
    }
    const counted = new KindCount(kind)
    const from = this.#callerAt(caller.address)
    from.kinds.set(key, counted)
    this.#kinds++
    if (from.lines < maxLinesOfAddress && this.#lines < maxLines) {
      from.lines++
      this.#lines++
      return true
    }
    counted.add(caller)
    return false
  }

  /** Call once a second: returns the lines for everything counted since. Kinds that did not recur are forgotten. */
  drain(): readonly AuditEvent[] {
    const lines: AuditEvent[] = []
    const callers = this.#callers
    const left = this.#others
    this.#callers = new Map()
    this.#others = others()
    this.#kinds = 0
    for (const [address, { kinds }] of callers) {
      const again = [...kinds].filter(([, { count }]) => count > 0)
      if (again.length === 0) continue
      const folded = fold(again.map(([, counted]) => counted))
      if (lines.length + folded.length >= maxLines) {
        for (const counted of folded) left.merge(counted)
        continue
      }
      lines.push(...folded.map((counted) => counted.lineFor(address)))
      const fresh = new Map(again.map(([key, { kind }]) => [key, new KindCount(kind)]))
      this.#callers.set(address, { lines: folded.length, kinds: fresh })
      this.#kinds += fresh.size
    }
    if (left.count > 0) lines.push(left.lineFor(undefined))
    this.#lines = lines.length
    return lines
  }

  #callerAt(address: string | undefined): Caller {
    const known = this.#callers.get(address)
    if (known !== undefined) return known
    const caller: Caller = { lines: 0, kinds: new Map() }
    this.#callers.set(address, caller)
    return caller
  }
}

/** Limits the kinds to the lines that an address may have. */
const fold = (kinds: readonly KindCount[]): readonly KindCount[] => {
  if (kinds.length <= maxLinesOfAddress) return kinds
  const rest = others()
  for (const counted of kinds.slice(maxLinesOfAddress - 1)) rest.merge(counted)
  return [...kinds.slice(0, maxLinesOfAddress - 1), rest]
}
