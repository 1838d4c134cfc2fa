import { isObject, type JsonObject, type JsonValue } from '../../json.js'

/** The conditions of a search of the audit log. All that are given must hold. */
export interface AuditFilter {
  /** Names of events; `account.*` stands for all that begin so. One of them must hold. */
  readonly events?: readonly string[]
  readonly client_id?: string
  readonly sub?: string
  readonly jti?: string
  readonly kid?: string
  /** The name of an operator; `local` is a command on a host. */
  readonly operator?: string
  readonly request_id?: string
  /** The object that was changed: `client:shop`, `account:ada`, `key:es-1`. */
  readonly object?: string
  /** Milliseconds since the epoch: from this time on, and before that one. */
  readonly since?: number
  readonly until?: number
}

type Values = readonly (JsonValue | undefined)[]

const list = (value: JsonValue | undefined): readonly JsonValue[] =>
  Array.isArray(value) ? (value as readonly JsonValue[]) : []

const operatorOf = ({ by }: JsonObject): Values => {
  if (!isObject(by)) return []
  return [by['operator'] ?? (by['via'] === 'command' ? 'local' : undefined)]
}

/** Events that change something which operators administer, or which a person can. */
export const changeEvents: readonly string[] = [
  ...['administration', 'configuration.loaded', 'account.*', 'slot.*', 'operator.*', 'principal.*'],
  // A proof changes nothing, and there are many.
  ...['key.published', 'key.activated', 'key.retired', 'key.withdrawn', 'key.ceremony_refused'],
  ...['client.registered', 'client.updated', 'client.deleted', 'consent.withdrawn', 'grant.revoked'],
]

/** The members that name an object, by the type of the object as searches write it. */
const objectMembers: Readonly<Record<string, readonly string[]>> = {
  client: ['client_id'],
  account: ['username', 'new_username'],
  person: ['sub'],
  principal: ['principal_id'],
  key: ['kid'],
  slot: ['slot'],
  operator: ['operator', 'name'],
  credential: ['credential'],
  session: ['sid'],
  grant: ['grant_id'],
  initial_access_token: ['initial_access_token'],
}

/** The types of objects that searches can name. */
export const objectTypes: readonly string[] = [...Object.keys(objectMembers), 'configuration']

const isEvent = (event: string, wanted: string): boolean =>
  wanted.endsWith('.*') ? event.startsWith(wanted.slice(0, -1)) : event === wanted

const objectsOf = (line: JsonObject): Values => {
  const { event } = line
  if (typeof event !== 'string' || !changeEvents.some((wanted) => isEvent(event, wanted))) return []
  if (event === 'configuration.loaded') return ['configuration:']
  return Object.entries(objectMembers).flatMap(([type, members]) =>
    members.flatMap((member) => (typeof line[member] === 'string' ? [`${type}:${line[member]}`] : [])),
  )
}

type Member = 'client_id' | 'sub' | 'jti' | 'kid' | 'operator' | 'request_id' | 'object'

/** The values of a line, by the member of a filter that finds them. */
const valuesOf: Readonly<Record<Member, (line: JsonObject) => Values>> = {
  client_id: (line) => [
    ...[line['client_id'], line['claimed_client_id'], line['sent_client_id']],
    ...list(line['claimed_client_ids']),
  ],
  sub: ({ sub, about, pairwise_sub }) => [sub, about, pairwise_sub],
  jti: ({ jti }) => [jti],
  kid: ({ kid, from_kid, signatures }) => [
    ...[kid, from_kid],
    ...list(signatures).map((one) => (isObject(one) ? one['kid'] : undefined)),
  ],
  operator: operatorOf,
  request_id: ({ request_id }) => [request_id],
  object: objectsOf,
}

const members = Object.keys(valuesOf) as Member[]

/** Values that many lines have. Their combinations with events are terms, too. */
const frequent = ['client_id', 'sub', 'operator', 'object', 'kid'] as const satisfies readonly Member[]

const term = (...parts: readonly string[]): string => parts.join('\0')

/** `account.` of `account.refused`. */
const familyOf = (event: string): string => event.slice(0, event.indexOf('.') + 1)

/** Calls `add` with every term by which the index finds this line. */
export const eachTerm = (line: JsonObject, add: (text: string) => void): void => {
  const event = typeof line['event'] === 'string' ? line['event'] : ''
  add(term('event', event))
  if (event.includes('.')) add(term('event', familyOf(event)))
  for (const member of members)
    for (const value of valuesOf[member](line)) {
      if (typeof value !== 'string') continue
      add(term(member, value))
      if ((frequent as readonly string[]).includes(member)) add(term('event', event, member, value))
    }
}

/** The alternatives of a filter: a line that it finds has all terms of one of them. Empty: any line may be found. */
export const termsOf = (filter: AuditFilter): readonly (readonly string[])[] => {
  const given = members.flatMap((member) => {
    const value = filter[member]
    return value === undefined ? [] : [[member, value] as const]
  })
  const own = given.map(([member, value]) => term(member, value))
  if (filter.events === undefined) return own.length === 0 ? [] : [own]
  return filter.events.map((event) => {
    // A family may have several segments, but terms have the first one only.
    if (event.endsWith('.*')) return [term('event', familyOf(event)), ...own]
    const pairs = given
      .filter(([member]) => (frequent as readonly string[]).includes(member))
      .map(([member, value]) => term('event', event, member, value))
    return [term('event', event), ...own, ...pairs]
  })
}

/** Texts that the bytes of a line must contain, the rarest first. They spare the parsing of most other lines. */
export const needlesOf = (filter: AuditFilter): readonly string[] => {
  const { object, operator, events = [] } = filter
  const name = object?.slice(object.indexOf(':') + 1)
  const [event] = events
  const texts = [
    ...[filter.jti, filter.request_id, filter.sub, filter.kid, filter.client_id, name === '' ? undefined : name],
    operator === 'local' ? undefined : operator,
  ].flatMap((text) => (text === undefined ? [] : [JSON.stringify(text)]))
  if (event === undefined || events.length > 1) return texts
  const isFamily = event.endsWith('.*')
  return [...texts, `"event":${isFamily ? `"${event.slice(0, -1)}` : JSON.stringify(event)}`]
}

/** Tells whether a filter finds this line. */
export const matches = (filter: AuditFilter, line: JsonObject): boolean => {
  const { events, since = -Infinity, until = Infinity } = filter
  const { event, time } = line
  if (typeof event !== 'string' || (events !== undefined && !events.some((wanted) => isEvent(event, wanted))))
    return false
  if (since !== -Infinity || until !== Infinity) {
    const at = timeOf(time)
    if (!(at >= since && at < until)) return false
  }
  return members.every((member) => {
    const wanted = filter[member]
    return wanted === undefined || valuesOf[member](line).includes(wanted)
  })
}

/** Milliseconds since the epoch, NaN for what is no time. */
export const timeOf = (time: JsonValue | undefined): number => (typeof time === 'string' ? Date.parse(time) : NaN)
