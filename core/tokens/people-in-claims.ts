import { isObject, type JsonObject, type JsonValue } from '../json.js'
import type { Client } from '../oauth/clients/client.js'
import type { Subjects } from '../oauth/subjects/subjects.js'

const textOf = (value: JsonValue | undefined): string => (typeof value === 'string' ? value : '')

/** A client that acts in its own name is not a person, so its subject stays. */
const changeSub = (named: JsonObject, change: (subject: string) => string): JsonObject => {
  const { sub, client_id } = named
  return typeof sub === 'string' && sub !== client_id ? { ...named, sub: change(sub) } : named
}

/**
 * Changes the people that the claims of a token name: its subject, the current and prior actors (RFC 8693 §4.1), and
 * those who may act (§4.4), in this order.
 */
const changePeople = (claims: JsonObject, change: (subject: string) => string): JsonObject => {
  const changeActor = (named: JsonObject): JsonObject => {
    const { act, ...changed } = changeSub(named, change)
    return isObject(act) ? { ...changed, act: changeActor(act) } : changed
  }
  const { act, may_act } = claims
  const changed = changeSub(claims, change)
  const named = (value: JsonValue | undefined, of: (value: JsonObject) => JsonObject) =>
    isObject(value) ? of(value) : undefined
  const actor = named(act, changeActor)
  const permitted = named(may_act, (value) => changeSub(value, change))
  return { ...changed, ...(actor && { act: actor }), ...(permitted && { may_act: permitted }) }
}

/**
 * Returns the claims as the client may see them. With `sealed`, the local subjects are included in a form that only
 * this server can read, so that finding the owner of the token needs no store.
 */
export const concealPeople = (
  client: Client,
  claims: JsonObject,
  subjects: Subjects,
  sealed: 'sealed' | 'unsealed',
): JsonObject => {
  if (client.subject_type !== 'pairwise') return claims
  const local: string[] = []
  const concealed = changePeople(claims, (subject) => {
    local.push(subject)
    return subjects.seenBy(client, subject)
  })
  const { sid, jti } = claims
  const token = { clientId: client.client_id, jti: textOf(jti) }
  return {
    ...concealed,
    ...(typeof sid === 'string' && { sid: subjects.sidSeenBy(client, sid) }),
    ...(sealed === 'sealed' && local.length > 0 && { sealed_sub: subjects.seal(token, local) }),
  }
}

/**
 * Returns the claims with their local subjects, or the same object where nothing is sealed. Returns undefined when
 * the seal was not made with this key.
 */
export const revealPeople = (claims: JsonObject, clientId: string, subjects: Subjects): JsonObject | undefined => {
  if (claims['sealed_sub'] === undefined) return claims
  const { sealed_sub: sealed, ...others } = claims
  const local = subjects.open({ clientId, jti: textOf(claims['jti']) }, textOf(sealed))
  if (local === undefined) return undefined
  const left = [...local]
  const revealed = changePeople(others, (subject) => left.shift() ?? subject)
  return left.length === 0 ? revealed : undefined
}
