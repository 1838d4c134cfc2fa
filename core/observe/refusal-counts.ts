import type { AuditEvent, AuditEventName } from './audit.js'

/** What refusals have to have in common to share a line. */
export interface RefusalKind {
  readonly event: AuditEventName
  readonly error?: string | undefined
  readonly error_code?: string | undefined
  readonly reason?: string | undefined
  /** How a client tried to authenticate, and how it is registered to. */
  readonly client_auth_method?: string | undefined
  readonly registered_auth_method?: string | undefined
  /** How somebody tried to sign in. */
  readonly method?: string | undefined
  /** The account that somebody tried to sign in to. */
  readonly sub?: string | undefined
}

/** Who sent a request, as far as that is known without proof. */
export interface RefusedCaller {
  /** An address bucket; undefined where callers have none. */
  readonly address: string | undefined
  /** A client that exists and that the request named. */
  readonly clientId: string | undefined
}

/** Lines of one address in a second. */
const maxLinesOfAddress = 10
/** Lines of all addresses in a second. */
const maxLines = 200
/** Kinds that are folded apart, of all addresses. */
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

/** What came from one address: how many lines it has had in this second, and what was counted, by kind. */
interface Caller {
  lines: number
  kinds: Map<string, KindCount>
}

/** More kinds than lines: what is over them is one. */
const others = (): KindCount => new KindCount({ event: 'request.refused', reason: 'other' })

/**
 * Counts the refusals of callers who have proved nothing, so that they cost lines by the kind and not by the request:
 * the first of a kind is a line at once, and those that follow are one line each second, with their `count`. An address
 * has 10 lines a second, all addresses together have 200; what is over them is counted under `request.refused`.
 */
export class RefusalCounts {
  #callers = new Map<string | undefined, Caller>()
  /** Of addresses for which there is no line left. */
  #others = others()
  #kinds = 0
  #lines = 0

  /** Nothing is counted or remembered. */
  get isEmpty(): boolean {
    return this.#callers.size === 0 && this.#others.count === 0
  }

  /** Counts one refusal, unless it is the first of its kind and there is a line for it: then `true`. */
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

  /** To be called once a second: the lines for what was counted since. What did not come again is forgotten. */
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

/** As many as an address has lines for. */
const fold = (kinds: readonly KindCount[]): readonly KindCount[] => {
  if (kinds.length <= maxLinesOfAddress) return kinds
  const rest = others()
  for (const counted of kinds.slice(maxLinesOfAddress - 1)) rest.merge(counted)
  return [...kinds.slice(0, maxLinesOfAddress - 1), rest]
}
