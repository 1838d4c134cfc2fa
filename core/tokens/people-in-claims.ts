import { isObject, type JsonObject, type JsonValue } from '../json.js'
import type { Client } from '../oauth/clients/client.js'
import type { Subjects } from '../oauth/subjects/subjects.js'

const textOf = (value: JsonValue | undefined): string => (typeof value === 'string' ? value : '')

/** A client in its own name is no person. */
const changeSub = (named: JsonObject, change: (subject: string) => string): JsonObject => {
  const { sub, client_id } = named
  return typeof sub === 'string' && sub !== client_id ? { ...named, sub: change(sub) } : named
}

/** Whom the claims of a token name: its subject, who acts and acted (RFC 8693 §4.1), and who may act (§4.4), in this order. */
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
 * What a client is told instead of these claims. `sealed`: the local subjects go with them, for this server alone, so that a
 * request with the token needs no store to find whose it is.
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

/** The claims with their local subjects; the same object where nothing is sealed. Undefined when the seal is not of this key. */
export const revealPeople = (claims: JsonObject, clientId: string, subjects: Subjects): JsonObject | undefined => {
  if (claims['sealed_sub'] === undefined) return claims
  const { sealed_sub: sealed, ...others } = claims
  const local = subjects.open({ clientId, jti: textOf(claims['jti']) }, textOf(sealed))
  if (local === undefined) return undefined
  const left = [...local]
  const revealed = changePeople(others, (subject) => left.shift() ?? subject)
  return left.length === 0 ? revealed : undefined
}
