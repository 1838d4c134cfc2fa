/**
 * What is done about a failure: `retry`: reopen the session, log in, find the key again, once; `reset`: restart
 * the child; `refused`: nothing, until an operator acts; `pin`: the same, and the PIN is not tried again.
 */
export type FailureKind = 'retry' | 'reset' | 'refused' | 'pin'

/** Crosses the process boundary. `message` says nothing secret. */
export interface Failure {
  readonly kind: FailureKind
  readonly message: string
}

/** PKCS#11 2.40 §11.1. A code that is not here resets the child: nothing else brings an unknown state to an end. */
const returnCodes: ReadonlyMap<number, readonly [name: string, kind: FailureKind]> = new Map([
  [0x20, ['CKR_DATA_INVALID', 'refused']],
  [0x21, ['CKR_DATA_LEN_RANGE', 'refused']],
  [0x60, ['CKR_KEY_HANDLE_INVALID', 'retry']],
  [0x62, ['CKR_KEY_SIZE_RANGE', 'refused']],
  [0x63, ['CKR_KEY_TYPE_INCONSISTENT', 'refused']],
  [0x68, ['CKR_KEY_FUNCTION_NOT_PERMITTED', 'refused']],
  [0x70, ['CKR_MECHANISM_INVALID', 'refused']],
  [0x71, ['CKR_MECHANISM_PARAM_INVALID', 'refused']],
  [0x82, ['CKR_OBJECT_HANDLE_INVALID', 'retry']],
  [0x90, ['CKR_OPERATION_ACTIVE', 'retry']],
  [0x91, ['CKR_OPERATION_NOT_INITIALIZED', 'retry']],
  [0xa0, ['CKR_PIN_INCORRECT', 'pin']],
  [0xa1, ['CKR_PIN_INVALID', 'pin']],
  [0xa2, ['CKR_PIN_LEN_RANGE', 'pin']],
  [0xa3, ['CKR_PIN_EXPIRED', 'pin']],
  [0xa4, ['CKR_PIN_LOCKED', 'pin']],
  [0xb0, ['CKR_SESSION_CLOSED', 'retry']],
  [0xb1, ['CKR_SESSION_COUNT', 'retry']],
  [0xb3, ['CKR_SESSION_HANDLE_INVALID', 'retry']],
  [0x101, ['CKR_USER_NOT_LOGGED_IN', 'retry']],
  [0x102, ['CKR_USER_PIN_NOT_INITIALIZED', 'pin']],
  [0x03, ['CKR_SLOT_ID_INVALID', 'reset']],
  [0x05, ['CKR_GENERAL_ERROR', 'reset']],
  [0x30, ['CKR_DEVICE_ERROR', 'reset']],
  [0x32, ['CKR_DEVICE_REMOVED', 'reset']],
  [0xe0, ['CKR_TOKEN_NOT_PRESENT', 'reset']],
  [0xe1, ['CKR_TOKEN_NOT_RECOGNIZED', 'reset']],
  [0x190, ['CKR_CRYPTOKI_NOT_INITIALIZED', 'reset']],
] as const)

/** A failure of our own making, or one that was already judged. */
export class TokenFailure extends Error {
  override readonly name = 'TokenFailure'
  readonly kind: FailureKind

  constructor(kind: FailureKind, message: string) {
    super(message)
    this.kind = kind
  }
}

/**
 * Judges what a call of the library threw. pkcs11js gives an error the return code and the name of the function, but for
 * some functions only the one or the other: both are in its text.
 */
export const failureOf = (error: unknown): Failure => {
  if (error instanceof TokenFailure) return { kind: error.kind, message: error.message }
  const { code: given, message, stack } = error as { code?: unknown; message?: unknown; stack?: unknown }
  const code = typeof given === 'number' ? given : Number(/^CKR_\w+:(\d+)/.exec(String(message))?.[1] ?? 0)
  if (code === 0) return { kind: 'reset', message: `the PKCS#11 library failed: ${String(message)}` }
  const [name, kind] = returnCodes.get(code) ?? [`return code 0x${code.toString(16)}`, 'reset']
  const where = /\bC_\w+/.exec(String(stack))?.[0]
  return { kind, message: `the token answered ${where === undefined ? '' : `${where}: `}${name}` }
}
