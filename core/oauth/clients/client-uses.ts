import type { Clock } from '../../clock.js'
import { isObject } from '../../json.js'
import type { AuditEvent } from '../../observe/audit.js'
import { RecentMap } from '../../recent-map.js'
import type { RecordStore } from '../../storage/ports.js'

/** The days (`2026-11-26`, UTC) on which a client last got tokens: of any kind, and signed with each algorithm. */
export interface ClientUse {
  readonly last: string
  readonly algorithms: Readonly<Record<string, string>>
}

/** Notes the use of clients as events of the audit log tell it. */
export type NoteClientUse = (event: AuditEvent) => void

/** Clients whose use of the day is remembered; one that was forgotten is written once more. */
const maxRemembered = 20_000
/** Clients whose use waits to be written. What is too much is noted with the next token. */
const maxWaiting = 1000
const keptMs = 400 * 86_400_000
const dayMs = 86_400_000
/** Milliseconds without writing after a failure. */
const pauseMs = 60_000

const dayOf = (now: number): string => new Date(now).toISOString().slice(0, 10)

const algorithmsOf = ({ signatures }: AuditEvent): readonly string[] =>
  (Array.isArray(signatures) ? signatures : []).flatMap((one: unknown) =>
    isObject(one) && typeof one['alg'] === 'string' ? [one['alg']] : [],
  )

/** Merges a use into what is known. */
const mergeUse = (known: ClientUse | undefined, day: string, algorithms: readonly string[]): ClientUse => ({
  last: known !== undefined && known.last > day ? known.last : day,
  algorithms: { ...known?.algorithms, ...Object.fromEntries(algorithms.map((alg) => [alg, day])) },
})

/**
 * Writes the use of each client once a day, off the path of requests: one write for the algorithms that its tokens
 * have, and one more for each that is new on that day. What cannot be written is noted later.
 */
export const createClientUses = (store: Pick<RecordStore<ClientUse>, 'update'>, clock: Clock): NoteClientUse => {
  let today = -1
  let seen = new RecentMap<string, 'seen'>(maxRemembered)
  const waiting = new Map<string, Set<string>>()
  let isWriting = false
  let pausedUntil = -Infinity

  const write = async (): Promise<void> => {
    for (const [clientId, algorithms] of waiting) {
      waiting.delete(clientId)
      const day = dayOf(clock())
      await store.update(clientId, (known) => ({
        result: undefined,
        write: { record: mergeUse(known, day, [...algorithms]), expiresAt: clock() + keptMs },
      }))
    }
  }

  const begin = (): void => {
    write()
      .catch(() => {
        waiting.clear()
        seen = new RecentMap(maxRemembered)
        pausedUntil = clock() + pauseMs
      })
      .finally(() => {
        isWriting = false
      })
  }

  return (event) => {
    if (event.event !== 'token.signed' || event.client_id === undefined) return
    const now = clock()
    if (now < pausedUntil) return
    const day = Math.floor(now / dayMs)
    if (day !== today) seen = new RecentMap(maxRemembered)
    today = day
    const algorithms = algorithmsOf(event)
    const name = `${algorithms.join()} ${event.client_id}`
    if (seen.get(name) !== undefined || waiting.size >= maxWaiting) return
    seen.set(name, 'seen')
    const others = waiting.get(event.client_id)
    if (others === undefined) waiting.set(event.client_id, new Set(algorithms))
    else for (const alg of algorithms) others.add(alg)
    if (isWriting) return
    isWriting = true
    setImmediate(begin)
  }
}
