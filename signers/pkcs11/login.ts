import type { Handle, PKCS11 } from 'pkcs11js'
import type { ChildOptions, SessionReport } from './protocol.js'
import { codeOf, failureOf, TokenFailure, type Failure } from './return-codes.js'
import type { TokenSelector } from './uri.js'

const CKU_USER = 1
/** `CKS_RO_USER_FUNCTIONS` and `CKS_RW_USER_FUNCTIONS`: states of a session whose application is logged in. */
const loggedIn = [1, 3]
const CKR_USER_ALREADY_LOGGED_IN = 0x100
const CKF_USER_PIN_COUNT_LOW = 0x10000
const CKF_USER_PIN_FINAL_TRY = 0x20000
const CKF_USER_PIN_LOCKED = 0x40000

/**
 * State shared by the threads: a lock, whether the PIN was refused, whether the parent knows that a login starts, and
 * `users`.
 */
export const newGate = (): Int32Array => new Int32Array(new SharedArrayBuffer(16))
const lock = 0
const refused = 1
const known = 2
/** How many threads use the library as initialised by the first of them. */
export const users = 3

/** The parent knows about the login, so it can proceed. */
export const letLogin = (gate: Int32Array): void => {
  Atomics.store(gate, known, 1)
  Atomics.notify(gate, known)
}

/** Returns a field of a token without its padding blanks. */
export const said = (text: string): string => text.replace(/[ \0]+$/, '')

/** The slot of the only matching token. Slot numbers may change with every start. */
export const findSlot = (
  lib: PKCS11,
  wanted: TokenSelector,
): { readonly slot: Handle; readonly token: TokenSelector } => {
  const tokens = lib.C_GetSlotList(true).flatMap((slot) => {
    const token = tokenIn(lib, slot)
    return token === undefined ? [] : [{ slot, token }]
  })
  const names = Object.keys(wanted) as (keyof TokenSelector)[]
  const [found, ...more] = tokens.filter(({ token }) => names.every((name) => token[name] === wanted[name]))
  const asked = names.map((name) => `${name} ${String(wanted[name])}`).join(', ')
  if (more.length > 0) throw new TokenFailure('refused', `${more.length + 1} tokens match ${asked}; exactly one must`)
  if (found === undefined) {
    const there = tokens.map(({ token }) => token.token ?? '').filter((label) => label !== '')
    throw new TokenFailure(
      'reset',
      `no token matches ${asked}; present: ${there.length === 0 ? 'none' : there.slice(0, 8).join(', ')}`,
    )
  }
  return found
}

/** A slot that lost its token after it was listed is skipped. */
const tokenIn = (lib: PKCS11, slot: Handle): TokenSelector | undefined => {
  try {
    const { label, serialNumber, manufacturerID, model } = lib.C_GetTokenInfo(slot)
    return {
      token: said(label),
      serial: said(serialNumber),
      manufacturer: said(manufacturerID),
      model: said(model),
      slot: slot.readUInt32LE(0),
    }
  } catch {
    return undefined
  }
}

/**
 * Logs in unless the application is logged in, which holds for all its sessions. Only one thread does so at a time,
 * and none after the token refused the PIN, because tokens count attempts.
 */
export const login = (
  lib: PKCS11,
  slot: Handle,
  session: Handle,
  { pin, pinInDoubt }: Pick<ChildOptions, 'pin' | 'pinInDoubt'>,
  gate: Int32Array,
  report: (message: SessionReport) => void,
): void => {
  while (Atomics.compareExchange(gate, lock, 0, 1) !== 0) Atomics.wait(gate, lock, 1)
  try {
    if (Atomics.load(gate, refused) !== 0) throw new TokenFailure('pin', 'the PIN was refused')
    if (loggedIn.includes(lib.C_GetSessionInfo(session).state)) return
    checkCounter(lib.C_GetTokenInfo(slot).flags, pinInDoubt)
    // If this process ends during a login, the parent must know that one was in progress.
    report({ event: 'login-begins' })
    Atomics.wait(gate, known, 0)
    Atomics.store(gate, known, 0)
    const failure = attempt(lib, session, pin)
    report({ event: 'login-ended' })
    if (failure === undefined) return
    if (failure.kind === 'pin') Atomics.store(gate, refused, 1)
    throw new TokenFailure(failure.kind, failure.message)
  } finally {
    Atomics.store(gate, lock, 0)
    Atomics.notify(gate, lock)
  }
}

const attempt = (lib: PKCS11, session: Handle, pin: string): Failure | undefined => {
  try {
    lib.C_Login(session, CKU_USER, pin)
    return undefined
  } catch (error) {
    return codeOf(error) === CKR_USER_ALREADY_LOGGED_IN ? undefined : failureOf(error)
  }
}

/**
 * The last attempt that the token allows is left to a person, and so is another one with a PIN that may have been
 * wrong.
 */
const checkCounter = (flags: number, pinInDoubt: boolean): void => {
  if ((flags & CKF_USER_PIN_LOCKED) !== 0) throw new TokenFailure('pin', 'the token reports that the PIN is locked')
  if ((flags & CKF_USER_PIN_FINAL_TRY) !== 0)
    throw new TokenFailure('pin', 'the token allows one last attempt at the PIN, which Signet does not make on its own')
  if (pinInDoubt && (flags & CKF_USER_PIN_COUNT_LOW) !== 0)
    throw new TokenFailure('pin', 'a login was interrupted, and the token counted a wrong PIN')
}
