import type { Handle, PKCS11, Template } from 'pkcs11js'
import type { PublicJwk } from '../key.js'

const CKF_OS_LOCKING_OK = 2
const CKF_SERIAL_SESSION = 4
const CKF_USER_PIN_FINAL_TRY = 0x20000
const CKU_USER = 1
const CKO_PUBLIC_KEY = 2
const CKO_PRIVATE_KEY = 3
const CKA_CLASS = 0x0
const CKA_LABEL = 0x3
const CKA_ID = 0x102
const CKA_EC_PARAMS = 0x180
const CKA_EC_POINT = 0x181
const CKR_USER_ALREADY_LOGGED_IN = 0x100
const CKR_CRYPTOKI_ALREADY_INITIALIZED = 0x191

/** The OID of P-256 in DER. */
const p256 = '06082a8648ce3d030107'
/** The point of P-256, uncompressed, in a DER octet string. */
const wrappedPoint = /^044104([0-9a-f]{64})([0-9a-f]{64})$/

/** Selects a token by its label or its slot. */
interface TokenSelector {
  readonly token?: string
  readonly slot?: number
}

/** A logged-in session with a token, and the key in it. */
export interface OpenKey {
  readonly session: Handle
  readonly privateKey: Handle
  readonly publicJwk: PublicJwk
}

/** A module is initialised once per process, and a login holds for all its sessions. */
const modules = new Map<string, Promise<PKCS11>>()

export const loadModule = (path: string): Promise<PKCS11> => {
  const loaded = modules.get(path) ?? load(path)
  modules.set(path, loaded)
  loaded.catch(() => modules.delete(path))
  return loaded
}

const load = async (path: string): Promise<PKCS11> => {
  const { default: pkcs11js } = (await import('pkcs11js')) as unknown as { default: typeof import('pkcs11js') }
  const library = new pkcs11js.PKCS11()
  library.load(path)
  unless(CKR_CRYPTOKI_ALREADY_INITIALIZED, () => library.C_Initialize({ flags: CKF_OS_LOCKING_OK }))
  return library
}

/**
 * Throws unless there is exactly one such token, exactly one private key with that label, and its public half is on
 * P-256.
 */
export const openKey = (library: PKCS11, wanted: TokenSelector, pin: string, label: string): OpenKey => {
  const slot = findSlot(library, wanted)
  const session = library.C_OpenSession(slot, CKF_SERIAL_SESSION)
  try {
    // The last attempt that the token allows is left to a person.
    if ((library.C_GetTokenInfo(slot).flags & CKF_USER_PIN_FINAL_TRY) !== 0)
      throw new Error('The token allows one last attempt at the PIN.')
    unless(CKR_USER_ALREADY_LOGGED_IN, () => library.C_Login(session, CKU_USER, pin))
    const named = { type: CKA_LABEL, value: Buffer.from(label) }
    const privateKey = findOne(library, session, `private key ${label}`, [
      { type: CKA_CLASS, value: CKO_PRIVATE_KEY },
      named,
    ])
    const id = attribute(library, session, privateKey, CKA_ID)
    const publicKey = findOne(library, session, `public key of ${label}`, [
      { type: CKA_CLASS, value: CKO_PUBLIC_KEY },
      id !== undefined && id.length > 0 ? { type: CKA_ID, value: id } : named,
    ])
    return { session, privateKey, publicJwk: publicHalf(library, session, publicKey) }
  } catch (error) {
    library.C_CloseSession(session)
    throw error
  }
}

/** Slot numbers may change with every start, labels do not. Empty slots are skipped. */
const findSlot = (library: PKCS11, { token, slot }: TokenSelector): Handle => {
  const slots = library.C_GetSlotList(true).filter((each) => {
    if (slot !== undefined && each.readUInt32LE(0) !== slot) return false
    return token === undefined || library.C_GetTokenInfo(each).label.replace(/[ \0]+$/, '') === token
  })
  const [found] = slots
  if (found === undefined || slots.length > 1)
    throw new Error(`${String(slots.length)} tokens match ${token ?? `slot ${String(slot)}`}; exactly one must.`)
  return found
}

const findOne = (library: PKCS11, session: Handle, what: string, template: Template): Handle => {
  library.C_FindObjectsInit(session, template)
  const handles = (() => {
    try {
      return library.C_FindObjects(session, 2)
    } finally {
      library.C_FindObjectsFinal(session)
    }
  })()
  const [found] = handles
  if (found === undefined || handles.length > 1)
    throw new Error(`${found === undefined ? 'There is no' : 'There is more than one'} ${what} in the token.`)
  return found
}

/** Undefined when the object lacks the attribute or does not reveal it. */
const attribute = (library: PKCS11, session: Handle, object: Handle, type: number): Buffer | undefined => {
  try {
    return library.C_GetAttributeValue(session, object, [{ type }])[0]?.value
  } catch {
    return undefined
  }
}

const publicHalf = (library: PKCS11, session: Handle, publicKey: Handle): PublicJwk => {
  const curve = attribute(library, session, publicKey, CKA_EC_PARAMS)?.toString('hex')
  const [, x, y] = wrappedPoint.exec(attribute(library, session, publicKey, CKA_EC_POINT)?.toString('hex') ?? '') ?? []
  if (curve !== p256 || x === undefined || y === undefined) throw new Error('The key in the token is not a P-256 key.')
  const [encodedX, encodedY] = [x, y].map((part) => Buffer.from(part, 'hex').toString('base64url'))
  return { kty: 'EC', crv: 'P-256', x: encodedX ?? '', y: encodedY ?? '' }
}

const unless = (allowed: number, call: () => void): void => {
  try {
    call()
  } catch (error) {
    if (codeOf(error) !== allowed) throw error
  }
}

/** The `CKR_` value, which pkcs11js has only in the text for some functions. 0 if there is none. */
export const codeOf = (error: unknown): number => {
  const { code, message } = error as { code?: unknown; message?: unknown }
  return typeof code === 'number' ? code : Number(/^CKR_\w+:(\d+)/.exec(String(message))?.[1] ?? 0)
}
