import { timingSafeEqual } from 'node:crypto'
import type { Clock } from '../clock.js'
import { hashOpaqueToken, isOpaqueToken, newOpaqueToken } from '../opaque-token.js'
import type { RecordStore } from '../storage/ports.js'

/** A token with which automation authenticates. The token itself is not stored. */
export interface OperatorToken {
  readonly id: string
  readonly sha256: string
  /** The name of the operator in the audit log. Several tokens may have one name. */
  readonly name: string
  readonly roles: readonly string[]
  /** Milliseconds since the epoch, like `expiresAt`. */
  readonly issuedAt: number
  readonly expiresAt: number
  /** The operator who issued it. */
  readonly issuedBy: string
}

/** The beginning of every token, by which scanners of repositories recognise one. */
const prefix = 'signet_op_'

/** Base64url characters of an id. */
const idLength = 12

const form = new RegExp(`^${prefix}([\\w-]{${String(idLength)}})_([\\w-]{43})$`)

/** A new token and the record to store of it. */
export const newOperatorToken = (
  token: Omit<OperatorToken, 'id' | 'sha256'>,
): { readonly token: string; readonly record: OperatorToken } => {
  const [id, secret] = [newOpaqueToken().slice(0, idLength), newOpaqueToken()]
  return { token: `${prefix}${id}_${secret}`, record: { id, sha256: hashOpaqueToken(secret), ...token } }
}

/** Finds the record of a token that is valid now. Throws `Unavailable`. */
export const findOperatorToken = async (
  tokens: Pick<RecordStore<OperatorToken>, 'find'>,
  token: string,
  clock: Clock,
): Promise<OperatorToken | undefined> => {
  const [, id, secret] = form.exec(token) ?? []
  if (id === undefined || !isOpaqueToken(secret)) return undefined
  const record = await tokens.find(id)
  if (record === undefined || record.expiresAt <= clock()) return undefined
  const isRight = timingSafeEqual(Buffer.from(record.sha256), Buffer.from(hashOpaqueToken(secret)))
  return isRight ? record : undefined
}
