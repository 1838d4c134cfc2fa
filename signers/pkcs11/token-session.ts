import * as crypto from 'node:crypto'
import type { Handle, PKCS11 } from 'pkcs11js'
import type { PublicJwk } from '../../core/api/signer.js'
import { countKeys, findKey, isSameHalf, makeKey, type FoundKey } from './key-objects.js'
import { findSlot, login } from './login.js'
import { checkMakes, findWay, type SigningWay } from './mechanisms.js'
import type {
  ChildOptions,
  SessionReport,
  ControlRequest,
  ControlResults,
  CreateRequest,
  OpenRequest,
} from './protocol.js'
import { failureOf, TokenFailure } from './return-codes.js'
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

/** A session runs one operation at a time and everything is synchronous, because it has its own thread. */
export const openTokenSession = ({ lib, options, gate, report }: SessionContext): TokenSession => {
  // With too small a buffer the token would keep the operation open.
  const room = Buffer.alloc(options.signatureBytes)
  const keys = new Map<number, SessionKey>()
  let token: TokenSelector = {}
  let slot: Handle
  let session: Handle | undefined

  const open = (flags = CKF_SERIAL_SESSION): Handle => {
    const found = findSlot(lib, options.token)
    ;({ token, slot } = found)
    const opened = lib.C_OpenSession(slot, flags)
    session = opened
    login(lib, slot, opened, options, gate, report)
    return opened
  }

  const close = (): void => {
    if (session === undefined) return
    try {
      lib.C_CloseSession(session)
    } catch {
      // The token may have closed it already.
    }
    session = undefined
    for (const key of keys.values()) key.handle = undefined
  }

  /** Runs `operation`, and once again in a new session if this one was lost. */
  const recovering = <T>(operation: (session: Handle) => T): T => {
    try {
      return operation(session ?? open())
    } catch (error) {
      if (failureOf(error).kind !== 'retry') throw error
    }
    close()
    try {
      return operation(open())
    } catch (error) {
      const { kind, message } = failureOf(error)
      // A failure that persists in a new session may be cured by restarting the library.
      throw new TokenFailure(kind === 'retry' ? 'reset' : kind, message)
    }
  }

  /** Reads the public half again each time, because the key behind a name may have been exchanged. */
  const find = (current: Handle, key: SessionKey): FoundKey => {
    const { request, published } = key
    const found = findKey(lib, current, request.key, request.alg)
    if (found === undefined) {
      // A token that is removed shows no objects for a while. A restart finds the key again, or finds that it is
      // gone.
      if (key.seen) throw new TokenFailure('reset', 'the key is no longer there')
      throw new TokenFailure('refused', 'no private key matches; exactly one must')
    }
    if (published !== undefined && !isSameHalf(request.members, published, found.jwk))
      throw new TokenFailure('refused', 'another key has replaced it: its public half is not the published one')
    key.way = findWay(lib, slot, request.alg)
    key.published = found.jwk
    key.handle = found.handle
    key.seen = true
    return found
  }

  const signOnce = (current: Handle, key: SessionKey, message: Buffer): Buffer => {
    const handle = key.handle ?? find(current, key).handle
    const { sign, digest, prefix = '' } = key.way ?? findWay(lib, slot, key.request.alg)
    const hashed = digest === undefined ? message : digestOf(digest, message)
    lib.C_SignInit(current, sign, handle)
    return lib.C_Sign(current, prefix === '' ? hashed : Buffer.concat([Buffer.from(prefix, 'hex'), hashed]), room)
  }

  /** Replaces the reading session, because a token may not grant another one. */
  const create = ({ label, alg }: CreateRequest): ControlResults['create'] => {
    recovering((current) => {
      if (countKeys(lib, current, { object: label }) > 0)
        throw new TokenFailure('refused', `the token already has a private key with the label ${label}`)
      findWay(lib, slot, alg)
      checkMakes(lib, slot, alg)
    })
    close()
    const writable = open(CKF_SERIAL_SESSION | CKF_RW_SESSION)
    try {
      return { token, ...makeKey(lib, writable, label, alg) }
    } finally {
      close()
    }
  }

  open()
  return {
    get handle() {
      return session?.readUInt32LE(0) ?? 0
    },
    sign(number, message) {
      const key = keys.get(number)
      if (key === undefined) throw new TokenFailure('reset', 'the session does not know the key')
      return recovering((current) => signOnce(current, key, message))
    },
    control(request) {
      if (request.do === 'create') return create(request)
      if (request.do === 'ping') return recovering((current) => ping(lib, current))
      for (const name of Object.keys(request.token) as (keyof TokenSelector)[])
        if (request.token[name] !== token[name])
          throw new TokenFailure('refused', `the ${name} of the token is not the one of the key's URI`)
      const key: SessionKey = { request, published: request.published, handle: undefined, way: undefined, seen: false }
      keys.set(request.number, key)
      return recovering((current) => find(current, key).jwk)
    },
    close,
  }
}

const ping = (lib: PKCS11, session: Handle): null => {
  lib.C_GetSessionInfo(session)
  return null
}
