import type { CertificateSubject } from '../certificates/subject.js'
import type { ConfiguredOperator, OperatorCredential } from './operator-record.js'

/** An operator as the configuration writes it. */
export interface WrittenOperator {
  readonly name: string
  readonly roles: readonly string[]
  readonly disabled: boolean
  readonly certificate?: CertificateSubject | undefined
  readonly passkeys: readonly { readonly id: string; readonly public_key: string }[]
  readonly oidc_sub?: string | undefined
  readonly devices: readonly string[]
}

const credentialsOf = ({
  certificate,
  passkeys,
  oidc_sub: sub,
  devices,
}: WrittenOperator): readonly OperatorCredential[] => [
  ...(certificate === undefined ? [] : [{ kind: 'certificate' as const, subject: certificate }]),
  ...passkeys.map(({ id, public_key: publicKey }) => ({ kind: 'passkey' as const, credentialId: id, publicKey })),
  ...(sub === undefined ? [] : [{ kind: 'oidc' as const, sub }]),
  ...devices.map((principal) => ({ kind: 'device' as const, principal })),
]

/** The operators of the configuration. */
export const configuredOperators = (people: readonly WrittenOperator[]): readonly ConfiguredOperator[] =>
  people.map((person) => {
    const { name, roles, disabled } = person
    return { name, roles, disabled, credentials: credentialsOf(person) }
  })
