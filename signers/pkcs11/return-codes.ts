/**
 * How a failure is handled. `retry`: reopen the session, log in and find the key again, once. `reset`: restart the
 * child. `refused`: nothing until an operator acts. `missing`: the same, for a key that the library does not show. `pin`: the same, and the PIN is not tried again. `final`: the
 * same, and the library is not started again.
 */
export type FailureKind = 'retry' | 'reset' | 'refused' | 'missing' | 'pin' | 'final'

/** Crosses the process boundary. `message` contains no secret. */
export interface Failure {
  readonly kind: FailureKind
  readonly message: string
}

/** PKCS#11 2.40 §5.1, 3.0 §5.1. Any other code restarts the child, because nothing else clears an unknown state. */
const codesByKind = {
  refused: {
    ARGUMENTS_BAD: 0x07,
    ATTRIBUTE_READ_ONLY: 0x10,
    ATTRIBUTE_SENSITIVE: 0x11,
    ATTRIBUTE_TYPE_INVALID: 0x12,
    ATTRIBUTE_VALUE_INVALID: 0x13,
    ACTION_PROHIBITED: 0x1b,
    DATA_INVALID: 0x20,
    DATA_LEN_RANGE: 0x21,
    FUNCTION_NOT_SUPPORTED: 0x54,
    KEY_SIZE_RANGE: 0x62,
    KEY_TYPE_INCONSISTENT: 0x63,
    KEY_FUNCTION_NOT_PERMITTED: 0x68,
    KEY_UNEXTRACTABLE: 0x6a,
    MECHANISM_INVALID: 0x70,
    MECHANISM_PARAM_INVALID: 0x71,
    SESSION_READ_ONLY: 0xb5,
    TEMPLATE_INCOMPLETE: 0xd0,
    TEMPLATE_INCONSISTENT: 0xd1,
    TOKEN_WRITE_PROTECTED: 0xe2,
    DOMAIN_PARAMS_INVALID: 0x130,
    CURVE_NOT_SUPPORTED: 0x140,
  },
  retry: {
    KEY_HANDLE_INVALID: 0x60,
    OBJECT_HANDLE_INVALID: 0x82,
    OPERATION_ACTIVE: 0x90,
    OPERATION_NOT_INITIALIZED: 0x91,
    SESSION_CLOSED: 0xb0,
    SESSION_COUNT: 0xb1,
    SESSION_HANDLE_INVALID: 0xb3,
    USER_NOT_LOGGED_IN: 0x101,
  },
  pin: {
    PIN_INCORRECT: 0xa0,
    PIN_INVALID: 0xa1,
    PIN_LEN_RANGE: 0xa2,
    PIN_EXPIRED: 0xa3,
    PIN_LOCKED: 0xa4,
    USER_PIN_NOT_INITIALIZED: 0x102,
  },
  reset: {
    CANCEL: 0x01,
    HOST_MEMORY: 0x02,
    SLOT_ID_INVALID: 0x03,
    GENERAL_ERROR: 0x05,
    FUNCTION_FAILED: 0x06,
    NO_EVENT: 0x08,
    NEED_TO_CREATE_THREADS: 0x09,
    CANT_LOCK: 0x0a,
    DEVICE_ERROR: 0x30,
    DEVICE_MEMORY: 0x31,
    DEVICE_REMOVED: 0x32,
    FUNCTION_CANCELED: 0x50,
    FUNCTION_NOT_PARALLEL: 0x51,
    SESSION_PARALLEL_NOT_SUPPORTED: 0xb4,
    SESSION_EXISTS: 0xb6,
    SESSION_READ_ONLY_EXISTS: 0xb7,
    SESSION_READ_WRITE_SO_EXISTS: 0xb8,
    SIGNATURE_INVALID: 0xc0,
    SIGNATURE_LEN_RANGE: 0xc1,
    TOKEN_NOT_PRESENT: 0xe0,
    TOKEN_NOT_RECOGNIZED: 0xe1,
    USER_ALREADY_LOGGED_IN: 0x100,
    USER_TYPE_INVALID: 0x103,
    USER_ANOTHER_ALREADY_LOGGED_IN: 0x104,
    USER_TOO_MANY_TYPES: 0x105,
    RANDOM_SEED_NOT_SUPPORTED: 0x120,
    RANDOM_NO_RNG: 0x121,
    BUFFER_TOO_SMALL: 0x150,
    INFORMATION_SENSITIVE: 0x170,
    STATE_UNSAVEABLE: 0x180,
    CRYPTOKI_NOT_INITIALIZED: 0x190,
    CRYPTOKI_ALREADY_INITIALIZED: 0x191,
    MUTEX_BAD: 0x1a0,
    MUTEX_NOT_LOCKED: 0x1a1,
    FUNCTION_REJECTED: 0x200,
  },
} as const satisfies Partial<Record<FailureKind, Readonly<Record<string, number>>>>

const returnCodes: ReadonlyMap<number, readonly [name: string, kind: FailureKind]> = new Map(
  (Object.keys(codesByKind) as (keyof typeof codesByKind)[]).flatMap((kind) =>
    Object.entries(codesByKind[kind]).map(([name, code]) => [code, [`CKR_${name}`, kind]] as const),
  ),
)

/** A failure of our own, or one that was already classified. */
export class TokenFailure extends Error {
  override readonly name = 'TokenFailure'
  readonly kind: FailureKind

  constructor(kind: FailureKind, message: string) {
    super(message)
    this.kind = kind
  }
}

/**
 * The return code in an error thrown by the library. For some functions pkcs11js has it only in the text. 0 means
 * that there is none.
 */
export const codeOf = (error: unknown): number => {
  const { code, message } = error as { code?: unknown; message?: unknown }
  return typeof code === 'number' ? code : Number(/^CKR_\w+:(\d+)/.exec(String(message))?.[1] ?? 0)
}

/** Classifies an error thrown by the library. */
export const failureOf = (error: unknown): Failure => {
  if (error instanceof TokenFailure) return { kind: error.kind, message: error.message }
  const { message, stack } = error as { message?: unknown; stack?: unknown }
  const code = codeOf(error)
  if (code === 0) return { kind: 'reset', message: `the PKCS#11 library failed: ${String(message)}` }
  const [name, kind] = returnCodes.get(code) ?? [`return code 0x${code.toString(16)}`, 'reset']
  const where = /\bC_\w+/.exec(String(stack))?.[0]
  return { kind, message: `the token answered ${where === undefined ? '' : `${where}: `}${name}` }
}
