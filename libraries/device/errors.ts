/** `error_code` values of the issuer's answers, and what a device meets before there is an answer. */
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
  /** The issuer did not answer, or something before it answered in its place. */
  | 'Unreachable'
  /** Under this URL somebody answers who does not speak this protocol. */
  | 'UnexpectedAnswer'
  /** This device has no attestation: it never enrolled, or forgot it. */
  | 'NotEnrolled'
  /** The issuer gives this device no client attestation, or no workload identity token. */
  | 'NotIssued'
  /** The store cannot be used at the moment. */
  | 'StoreFailed'
  /** What is in the store is not what a device wrote there, or only a part of it. */
  | 'StoreCorrupted'
  /** The key cannot be used. */
  | 'KeyFailed'

/** After these the key and the attestation are of no use: the device enrols again, with a second factor. */
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

/** Why a device has no new attestation, or no decision stands. */
export class DeviceError extends Error {
  override readonly name = 'DeviceError'
  /** One of `DeviceErrorCode`; a later issuer may send others. */
  readonly errorCode: string
  /** Seconds to wait before the same request is worth repeating, if the issuer said so. */
  readonly retryAfterSeconds: number | undefined
  /** Whether only a full enrolment helps. */
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

/** Runs `work`, and tells whatever it throws as a `DeviceError` of this code, unless it is one already. */
export const toldAs = async <T>(errorCode: DeviceErrorCode, message: string, work: () => Promise<T>): Promise<T> => {
  try {
    return await work()
  } catch (cause) {
    throw cause instanceof DeviceError ? cause : new DeviceError(errorCode, message, { cause })
  }
}
