/** `error_code` values of the issuer's answers, and failures before there is an answer. */
export type DeviceErrorCode =
  | 'InvalidRequest'
  | 'BadJwk'
  | 'BadAlg'
  | 'ApprovalPending'
  | 'EvidenceRequired'
  | 'EvidenceInvalid'
  | 'SecondFactorFailed'
  | 'InvalidChallenge'
  | 'ChallengeSignatureInvalid'
  | 'AttestationInvalid'
  | 'KeyNotBound'
  | 'ReenrolmentRequired'
  | 'PrincipalRevoked'
  | 'AttributesDenied'
  | 'RequestSignatureInvalid'
  | 'DeviceRequired'
  | 'ApprovalInvalid'
  | 'ApprovalMismatch'
  | 'ApprovalUnknown'
  | 'ApprovalOver'
  | 'RateLimited'
  | 'Unavailable'
  /** The issuer did not answer, or something in front of it answered instead. */
  | 'Unreachable'
  /** The server at this URL does not speak this protocol. */
  | 'UnexpectedAnswer'
  /** This device has no attestation: it never enrolled, or `forget` was called. */
  | 'NotEnrolled'
  /** The issuer does not give this device a client attestation or a workload identity token. */
  | 'NotIssued'
  /** The store cannot be used at the moment. */
  | 'StoreFailed'
  /** The stored data is incomplete or was not written by a device. */
  | 'StoreCorrupted'
  /** The key cannot be used. */
  | 'KeyFailed'

/** After these, key and attestation are useless: the device must enrol again, with a second factor. */
const final: ReadonlySet<string> = new Set<DeviceErrorCode>([
  'AttestationInvalid',
  'KeyNotBound',
  'ReenrolmentRequired',
  'PrincipalRevoked',
  'NotEnrolled',
  'StoreCorrupted',
])
/** After these the same request may succeed. */
const passing: ReadonlySet<string> = new Set<DeviceErrorCode>([
  'ApprovalPending',
  'RateLimited',
  'Unavailable',
  'Unreachable',
])

/** Why a device has no new attestation, or no decision was recorded. */
export class DeviceError extends Error {
  override readonly name = 'DeviceError'
  /** One of `DeviceErrorCode`; a later issuer may send others. */
  readonly errorCode: string
  /** Seconds to wait before repeating the request, if the issuer gave a number. */
  readonly retryAfterSeconds: number | undefined
  /** Whether only a new enrolment helps. */
  readonly mustEnrol: boolean
  /** Whether the same request may succeed later. */
  readonly isPassing: boolean

  constructor(
    errorCode: DeviceErrorCode | (string & {}),
    message: string,
    options: { readonly retryAfterSeconds?: number; readonly cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause })
    this.errorCode = errorCode
    this.retryAfterSeconds = options.retryAfterSeconds
    this.mustEnrol = final.has(errorCode)
    this.isPassing = passing.has(errorCode)
  }
}

/** Runs `work` and converts any error that is not a `DeviceError` to one with this code. */
export const withErrorCode = async <T>(
  errorCode: DeviceErrorCode,
  message: string,
  work: () => Promise<T>,
): Promise<T> => {
  try {
    return await work()
  } catch (cause) {
    throw cause instanceof DeviceError ? cause : new DeviceError(errorCode, message, { cause })
  }
}
