import { isObject, type JsonObject } from '../../json.js'

/** The events of the audit log that are changes of the deployment. */
export const changeEvents: ReadonlySet<string> = new Set([
  'configuration.loaded',
  'administration.begun',
  'administration',
])

export const isChange = ({ event }: JsonObject): boolean => typeof event === 'string' && changeEvents.has(event)

/** Who made changes in the range, as the audit log names them. */
export interface OperatorSeen {
  readonly by: JsonObject
  readonly first: string
  readonly last: string
  /** The counts by action. Starts and reloads count as `configuration`. */
  readonly actions: Readonly<Record<string, number>>
}

/** Most names and most actions that are told apart. */
const maxOperators = 10_000
const maxActions = 1000

/** Collects who acted, line by line. */
export interface OperatorCollector {
  add(line: JsonObject): void
  seen(): readonly OperatorSeen[]
}

const actionOf = ({ event, action }: JsonObject): string => {
  if (event === 'configuration.loaded') return 'configuration'
  return typeof action === 'string' ? action : 'unknown'
}

export const createOperatorCollector = (): OperatorCollector => {
  const found = new Map<string, { by: JsonObject; first: string; last: string; actions: Map<string, number> }>()
  return {
    add(line) {
      const { event, time, by } = line
      // The beginning of a change is no second one.
      if (event !== 'administration' && event !== 'configuration.loaded') return
      if (!isObject(by) || typeof time !== 'string') return
      const wanted = JSON.stringify(by)
      const name = found.has(wanted) || found.size < maxOperators ? wanted : 'others'
      const known = found.get(name) ?? {
        by: name === wanted ? by : { others: true },
        first: time,
        last: time,
        actions: new Map(),
      }
      found.set(name, known)
      if (time < known.first) known.first = time
      if (time > known.last) known.last = time
      const action = known.actions.has(actionOf(line)) || known.actions.size < maxActions ? actionOf(line) : 'others'
      known.actions.set(action, (known.actions.get(action) ?? 0) + 1)
    },
    seen: () => [...found.values()].map(({ actions, ...one }) => ({ ...one, actions: Object.fromEntries(actions) })),
  }
}
