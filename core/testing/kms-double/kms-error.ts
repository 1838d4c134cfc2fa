/** Statuses of KMS's errors (API reference, "Errors" of each action); every other one is 400. */
const statuses: Readonly<Record<string, number>> = {
  AlreadyExistsException: 409,
  DisabledException: 409,
  KMSInvalidStateException: 409,
  NotFoundException: 404,
  KMSInternalException: 500,
  KeyUnavailableException: 500,
  DependencyTimeoutException: 503,
}

/** A refusal as KMS words it. */
export class KmsErrorReply extends Error {
  override readonly name: string
  readonly status: number

  constructor(name: string, message: string) {
    super(message)
    this.name = name
    this.status = statuses[name] ?? 400
  }
}
