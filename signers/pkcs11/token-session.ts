import * as crypto from 'node:crypto'
import type { Handle, PKCS11 } from 'pkcs11js'
import type { PublicJwk } from '../../core/api/signer.js'
import { countKeys, findKey, isSameHalf, makeKey, rephrase, type FoundKey } from './key-objects.js'
import { findSlot, login } from './login.js'
import { readFacts } from './token-facts.js'
import { checkMakes, findWay, type SigningWay } from './mechanisms.js'
import type {
  ChildOptions,
  SessionReport,
  ControlRequest,
  ControlResults,
  CreateRequest,
  LookRequest,
  OpenRequest,
} from './protocol.js'
import { failureOf, TokenFailure } from './return-codes.js'
import { findPairs, inspectObject, listKeys } from './slot-objects.js'
import type { TokenSelector } from './uri.js'

const CKF_SERIAL_SESSION = 4
const CKF_RW_SESSION = 2

export interface SessionContext {
  readonly lib: PKCS11
  readonly options: ChildOptions
  /** From `newGate`. */
  readonly gate: Int32Array
  readonly report: (message: SessionReport) => void
}

/** A key named by the parent, and what was found for it. */
interface SessionKey {
  readonly request: OpenRequest
  /** The first public half that was read, or the published one. */
  published: PublicJwk | undefined
  handle: Handle | undefined
  way: SigningWay | undefined
  /** Whether it was found since the library was started. */
  seen: boolean
}

/** The session, which may be lost and opened again, and what is known of its keys. */
interface State extends SessionContext {
  /** Takes one signature. With too small a buffer the token would keep the operation open. */
  readonly room: Buffer
  /** By the number that the parent has given. */
  readonly keys: Map<number, SessionKey>
  /** The token and its slot as the latest `open` found them; empty before. */
  token: TokenSelector
  slot: Handle
  session: Handle | undefined
}

export interface TokenSession {
  /** The handle by which the token's own log may identify the session. It changes on reopening. */
  readonly handle: number
  sign(number: number, message: Buffer): Buffer
  control(request: ControlRequest): ControlResults[ControlRequest['do']]
  close(): void
}

const digestOf: (algorithm: string, message: Buffer) => Buffer =
  'hash' in crypto
    ? (algorithm, message) => crypto.hash(algorithm, message, 'buffer')
    : (algorithm, message) => crypto.createHash(algorithm).update(message).digest()

const open = (state: State, flags = CKF_SERIAL_SESSION): Handle => {
  const { lib, options, gate, report } = state
  const { token, slot } = findSlot(lib, options.token)
  state.token = token
  state.slot = slot
  const opened = lib.C_OpenSession(slot, flags)
  state.session = opened
  login(lib, slot, opened, options, gate, report)
  return opened
}

const close = (state: State): void => {
  if (state.session === undefined) return
  try {
    state.lib.C_CloseSession(state.session)
  } catch {
    // The token may have closed it already.
  }
  state.session = undefined
  for (const key of state.keys.values()) key.handle = undefined
}

/** Runs `operation`, and once again in a new session if this one was lost. */
const recovering = <T>(state: State, operation: (session: Handle) => T): T => {
  try {
    return operation(state.session ?? open(state))
  } catch (error) {
    if (failureOf(error).kind !== 'retry') throw error
  }
  close(state)
  try {
    return operation(open(state))
  } catch (error) {
    const { kind, message } = failureOf(error)
    // A failure that persists in a new session may be cured by restarting the library.
    throw new TokenFailure(kind === 'retry' ? 'reset' : kind, message)
  }
}

/** Reads the public half again each time, because the key behind a name may have been exchanged. */
const find = ({ lib, slot }: State, current: Handle, key: SessionKey): FoundKey => {
  const { request, published } = key
  const found = findKey(lib, current, request.key, request.alg)
  if (found === undefined) {
    // A token that is removed shows no objects for a while. A restart finds the key again, or finds that it is
    // gone.
    if (key.seen) throw new TokenFailure('reset', 'the key is no longer there')
    throw new TokenFailure('missing', 'no private key matches; exactly one must')
  }
  if (published !== undefined && !isSameHalf(request.members, published, found.jwk))
    throw new TokenFailure('refused', 'another key has replaced it: its public half is not the published one')
  key.way = findWay(lib, slot, request.alg)
  key.published = found.jwk
  key.handle = found.handle
  key.seen = true
  return found
}

const signOnce = (state: State, current: Handle, key: SessionKey, message: Buffer): Buffer => {
  const { lib, room } = state
  const handle = key.handle ?? find(state, current, key).handle
  const { sign, digest, prefix = '' } = key.way ?? findWay(lib, state.slot, key.request.alg)
  const hashed = digest === undefined ? message : digestOf(digest, message)
  lib.C_SignInit(current, sign, handle)
  return lib.C_Sign(current, prefix === '' ? hashed : Buffer.concat([Buffer.from(prefix, 'hex'), hashed]), room)
}

/** Replaces the reading session, because a token may not grant another one. */
const create = (state: State, { label, alg }: CreateRequest): ControlResults['create'] => {
  const { lib } = state
  recovering(state, (current) => {
    if (countKeys(lib, current, { object: label }) > 0)
      throw new TokenFailure('refused', `the token already has a private key with the label ${label}`)
    findWay(lib, state.slot, alg)
    checkMakes(lib, state.slot, alg)
  })
  close(state)
  try {
    const writable = open(state, CKF_SERIAL_SESSION | CKF_RW_SESSION)
    return { token: state.token, ...makeKey(lib, writable, label, alg) }
  } catch (error) {
    return rephrase(error)
  } finally {
    close(state)
  }
}

/** Remembers the key under its number, and reads its public half. */
const openKey = (state: State, request: OpenRequest): PublicJwk => {
  const { keys, token } = state
  for (const name of Object.keys(request.token) as (keyof TokenSelector)[])
    if (request.token[name] !== token[name])
      throw new TokenFailure('refused', `the ${name} of the token is not the one of the key's URI`)
  const key: SessionKey = { request, published: request.published, handle: undefined, way: undefined, seen: false }
  keys.set(request.number, key)
  return recovering(state, (current) => find(state, current, key).jwk)
}

const ping = (lib: PKCS11, session: Handle): null => {
  lib.C_GetSessionInfo(session)
  return null
}

const look = (state: State, request: LookRequest): ControlResults[LookRequest['do']] =>
  recovering(state, (current) => {
    const { lib, token } = state
    if (request.do === 'inspect') return inspectObject(lib, current, request.key)
    const keys = request.do === 'find' ? findPairs(lib, current, request.key) : listKeys(lib, current, request.prefix)
    return { token, keys }
  })

/** A session runs one operation at a time and everything is synchronous, because it has its own thread. */
export const openTokenSession = (context: SessionContext): TokenSession => {
  const state: State = {
    ...context,
    room: Buffer.alloc(context.options.signatureBytes),
    keys: new Map(),
    token: {},
    slot: Buffer.alloc(0),
    session: undefined,
  }
  open(state)
  return {
    get handle() {
      return state.session?.readUInt32LE(0) ?? 0
    },
    sign(number, message) {
      const key = state.keys.get(number)
      if (key === undefined) throw new TokenFailure('reset', 'the session does not know the key')
      return recovering(state, (current) => signOnce(state, current, key, message))
    },
    control(request) {
      if (request.do === 'create') return create(state, request)
      if (request.do === 'ping') return recovering(state, (current) => ping(state.lib, current))
      if (request.do === 'facts') return recovering(state, () => readFacts(state.lib, state.slot))
      return request.do === 'open' ? openKey(state, request) : look(state, request)
    },
    close: () => close(state),
  }
}
