import { isoCBOR, parseAuthenticatorData } from '@simplewebauthn/server/helpers'

/** The result of `DCAppAttestService.attestKey`, unverified. */
export interface AttestationObject {
  readonly x5c: readonly Uint8Array[]
  readonly authData: Uint8Array
  readonly rpIdHash: Uint8Array
  readonly counter: number
  readonly aaguid: Uint8Array
  readonly credentialId: Uint8Array
}

const isBytes = (value: unknown): value is Uint8Array => value instanceof Uint8Array

/** Throws `Error` for any other bytes. The receipt for Apple's risk metric is not read. */
export const readObject = (bytes: Buffer): AttestationObject => {
  const object: unknown = isoCBOR.decodeFirst(new Uint8Array(bytes))
  if (!(object instanceof Map) || object.get('fmt') !== 'apple-appattest') throw new Error('another format')
  const [statement, authData] = [object.get('attStmt') as unknown, object.get('authData') as unknown]
  if (!(statement instanceof Map) || !isBytes(authData)) throw new Error('a member is missing')
  const x5c = statement.get('x5c') as unknown
  if (!Array.isArray(x5c) || !x5c.every(isBytes)) throw new Error('x5c is not a chain')
  const { rpIdHash, counter, aaguid, credentialID } = parseAuthenticatorData(new Uint8Array(authData))
  if (aaguid === undefined || credentialID === undefined) throw new Error('there is no credential')
  return { x5c, authData, rpIdHash, counter, aaguid, credentialId: credentialID }
}
