import { KeyRefused, Unavailable } from '../../core/api/signer.js'

/** What was requested, for the operator's message. */
export interface KmsQuestion {
  /** The action's name in an IAM policy, without the prefix: `Sign`. */
  readonly action:
    | 'DescribeKey'
    | 'GetPublicKey'
    | 'Sign'
    | 'CreateKey'
    | 'CreateAlias'
    | 'ReplicateKey'
    | 'ListKeys'
    | 'ListAliases'
    | 'ListResourceTags'
    | 'DisableKey'
    | 'ScheduleKeyDeletion'
  readonly ref: string
  readonly region: string
}

export const component = 'signers.aws-kms'

/** Matched by `name`, because the SDK's final error has no mark that says whether to retry. */
const passing: ReadonlyMap<string, string> = new Map([
  ['ThrottlingException', 'throttled: more requests than the quota of the account and region allows'],
  ['LimitExceededException', 'a quota of the account is used up'],
  ['KMSInternalException', 'an internal error'],
  ['DependencyTimeoutException', 'an internal timeout'],
  ['KeyUnavailableException', 'the key is not available at the moment'],
  [
    'CredentialsProviderError',
    'no AWS credentials were found: configure them for the AWS SDK (environment, profile, role)',
  ],
  ['ExpiredTokenException', 'the AWS credentials have expired and were not renewed'],
  ['InvalidSignatureException', 'it rejected the signature of the request: check the secret access key and the clock'],
])

/** Permanent until an operator acts. */
const permanent: ReadonlyMap<string, string> = new Map([
  ['DisabledException', 'the key is disabled: enable it'],
  ['KMSInvalidStateException', 'the state of the key does not allow it: is it waiting for its deletion?'],
  ['NotFoundException', 'there is no such key: check the account, the region and the id'],
  ['InvalidArnException', 'it does not accept this ARN'],
  ['InvalidKeyUsageException', 'the key cannot sign with this algorithm'],
  ['AlreadyExistsException', 'the alias already exists'],
  ['UnsupportedOperationException', 'this key cannot do that: only a multi-Region key has replicas'],
  ['TagException', 'it does not accept the tags: does a tag policy of the organization forbid them?'],
  ['TagPolicyException', 'a tag policy of the organization forbids the tags'],
  ['UnrecognizedClientException', 'it does not know the AWS access key'],
  ['InvalidClientTokenId', 'it does not know the AWS access key'],
])

/** What is counted rather than requested too often (developer guide, "Resource quotas"). */
const quotas: Partial<Record<KmsQuestion['action'], string>> = {
  CreateKey: 'the account has as many keys in this region as its quota allows: delete some, or raise the quota',
  ReplicateKey: 'the account has as many keys in a region of `replicas` as its quota allows: delete some, or raise it',
  CreateAlias: 'the key, or the account in this region, has as many aliases as its quota allows: delete some',
}

/** The name that KMS gives its refusal. */
export const nameOfCause = ({ cause }: KeyRefused): string => (cause instanceof Error ? cause.name : '')

interface SdkError {
  readonly name: string
  readonly message: string
  readonly $metadata?: { readonly httpStatusCode?: number }
}

/** The error of a call as the port has it: `Unavailable` when another attempt may succeed, `KeyRefused` when none will. */
export const kmsError = (thrown: unknown, question: KmsQuestion): Unavailable | KeyRefused => {
  const { action, ref, region } = question
  const error: SdkError = thrown instanceof Error ? thrown : { name: 'Error', message: String(thrown) }
  const what = `AWS KMS in ${region} refuses ${action} with ${ref}`
  if (error.name === 'AccessDeniedException') {
    // Tags at the creation of a key need a permission of their own, which only the message names.
    const [, needed = action] = /not authorized to perform: kms:(\w+)/.exec(error.message) ?? []
    return new KeyRefused(`${what}: these AWS credentials need kms:${needed} on it. ${line(error)}`, { cause: thrown })
  }
  const known = error.name === 'LimitExceededException' ? quotas[action] : permanent.get(error.name)
  if (known !== undefined) return new KeyRefused(`${what}: ${known}. ${line(error)}`, { cause: thrown })
  const why = passing.get(error.name)
  const status = error.$metadata?.httpStatusCode ?? 500
  // Any other refusal means that the request is wrong, and repeating it would not help.
  if (why === undefined && status >= 400 && status < 500 && status !== 429 && status !== 408)
    return new KeyRefused(`${what}. ${line(error)}`, { cause: thrown })
  const text = `AWS KMS in ${region} did not do ${action}: ${why ?? 'it is unreachable or faulty'}. ${line(error)}`
  return new Unavailable(component, 'no', text, { cause: thrown })
}

/** There was no answer in time. */
export const kmsTimeout = ({ action, region }: KmsQuestion, milliseconds: number): Unavailable =>
  new Unavailable(
    component,
    'no',
    `AWS KMS in ${region} did not answer ${action} within ${Math.round(milliseconds)} ms.`,
  )

const line = ({ name, message }: SdkError): string =>
  `(${name}${message === '' ? '' : `: ${message.replaceAll(/\s+/g, ' ').slice(0, 300)}`})`
