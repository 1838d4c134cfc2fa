import { writeFirebase } from '../../interaction/foreign-hashes/scrypt.js'
import type { JsonObject } from '../../json.js'
import type { ImportedAccount } from '../../administration/import/imported-account.js'
import { fromBase32 } from '../../totp/one-time-password.js'
import { base32Totp, claimsOf, EntryFault, listOf, objectOf, textOf, totpOf } from './fields.js'

type Entry = Omit<ImportedAccount, 'place'>

/** One of our lines, or of an export of Auth0. */
export const fromLine = (line: JsonObject): Entry => {
  const { _id: id, user_id: userId, email } = line
  const objectId = textOf(objectOf(id)['$oid'])
  const auth0 = textOf(userId) ?? (objectId === undefined ? undefined : `auth0|${objectId}`)
  const username = textOf(line['username']) ?? textOf(email)
  if (username === undefined) throw new EntryFault('The entry has no username.')
  const given = ['name', 'given_name', 'family_name', 'nickname', 'picture', 'email_verified', 'phone_number'] as const
  return {
    username,
    sub: textOf(line['sub']) ?? auth0,
    disabled: line['disabled'] === true || line['blocked'] === true,
    password: textOf(line['password']),
    passwordHash: textOf(line['password_hash']) ?? textOf(line['passwordHash']),
    totp: base32Totp(textOf(line['totp_secret'])),
    claims: claimsOf({
      ...Object.fromEntries(given.map((name) => [name, line[name]])),
      email,
      groups: line['groups'],
      ...objectOf(line['claims']),
    }),
  }
}

/** The texts of a credential are JSON. */
const parsed = (text: string | undefined): JsonObject => {
  try {
    return objectOf(JSON.parse(text ?? '{}') as JsonObject)
  } catch {
    throw new EntryFault('A credential is not JSON.')
  }
}

const base64 = (text: string | undefined): string =>
  Buffer.from(text ?? '', 'base64')
    .toString('base64')
    .replace(/=+$/, '')

/** `additionalParameters` has lists of one text each. */
const parameter = (data: JsonObject, name: string): string =>
  textOf(listOf(objectOf(data['additionalParameters'])[name])[0]) ?? ''

const keycloakHash = (credential: JsonObject): string => {
  const [data, secret] = [parsed(textOf(credential['credentialData'])), parsed(textOf(credential['secretData']))]
  const iterations = String(Number(data['hashIterations']))
  const algorithm = textOf(data['algorithm']) ?? ''
  const [salt, value] = [base64(textOf(secret['salt'])), base64(textOf(secret['value']))]
  if (algorithm === 'argon2') {
    const version = parameter(data, 'version') === '1.0' ? 16 : 19
    const cost = `m=${parameter(data, 'memory')},t=${iterations},p=${parameter(data, 'parallelism')}`
    return `$argon2${parameter(data, 'type')}$v=${String(version)}$${cost}$${salt}$${value}`
  }
  const digest = algorithm === 'pbkdf2' ? 'sha1' : algorithm.replace(/^pbkdf2-/, '')
  return `$pbkdf2-${digest}$i=${iterations}$${salt}$${value}`
}

const keycloakTotp = (credential: JsonObject): ImportedAccount['totp'] => {
  const [data, secret] = [parsed(textOf(credential['credentialData'])), parsed(textOf(credential['secretData']))]
  if (data['subType'] !== 'totp') throw new EntryFault('The authenticator app counts, and has no time (HOTP).')
  const value = textOf(secret['value']) ?? ''
  return totpOf(data['secretEncoding'] === 'BASE32' ? fromBase32(value) : Buffer.from(value), {
    algorithm: (textOf(data['algorithm']) ?? 'HmacSHA1').replace(/^Hmac/, ''),
    digits: Number(data['digits'] ?? 6),
    period: Number(data['period'] ?? 30),
  })
}

/** A user of a realm export of Keycloak. */
export const fromKeycloak = (user: JsonObject): Entry => {
  const username = textOf(user['username'])
  if (username === undefined) throw new EntryFault('The entry has no username.')
  if (user['serviceAccountClientId'] !== undefined) throw new EntryFault('The user is the service account of a client.')
  const credentials = listOf(user['credentials']).map(objectOf)
  const password = credentials.find(({ type }) => type === 'password')
  const otp = credentials.find(({ type }) => type === 'otp')
  const [given, family] = [textOf(user['firstName']), textOf(user['lastName'])]
  const attributes = Object.entries(objectOf(user['attributes'])).map(([name, value]) => {
    const all = listOf(value)
    return [name, all.length === 1 ? all[0] : value] as const
  })
  return {
    username,
    sub: textOf(user['id']),
    disabled: user['enabled'] === false,
    ...(password !== undefined && { passwordHash: keycloakHash(password) }),
    ...(otp !== undefined && { totp: keycloakTotp(otp) }),
    claims: claimsOf({
      ...Object.fromEntries(attributes),
      name: [given, family].filter((part) => part !== undefined).join(' '),
      ...{ given_name: given, family_name: family, email: user['email'] },
      email_verified: user['email'] === undefined ? undefined : user['emailVerified'],
      groups: listOf(user['groups']).flatMap((group) => textOf(group)?.replace(/^\//, '') ?? []),
    }),
  }
}

/** The parameters of a project of Firebase, as its console shows them. */
export interface FirebaseProject {
  readonly signerKey: Uint8Array
  readonly separator: Uint8Array
  readonly rounds: number
  readonly memoryCost: number
}

/** Reads `hash_config` of the console of Firebase, or the same as JSON. Undefined: a parameter is missing. */
export const readFirebaseProject = (text: string): FirebaseProject | undefined => {
  const member = (name: string): string =>
    new RegExp(`${name}"?\\s*[:=]\\s*"?([A-Za-z0-9+/=_-]+)`).exec(text)?.[1] ?? ''
  const signerKey = Buffer.from(member('base64_signer_key'), 'base64')
  const [rounds, memoryCost] = [Number(member('rounds')), Number(member('mem_cost'))]
  if (signerKey.length === 0 || !(rounds > 0) || !(memoryCost > 0)) return undefined
  return { signerKey, separator: Buffer.from(member('base64_salt_separator'), 'base64'), rounds, memoryCost }
}

/** A user of `firebase auth:export`. */
export const fromFirebase = (user: JsonObject, project: FirebaseProject | undefined): Entry => {
  const { localId, email, phoneNumber } = user
  const username = textOf(email) ?? textOf(phoneNumber) ?? textOf(localId)
  if (username === undefined) throw new EntryFault('The entry has no username.')
  const written = textOf(user['passwordHash'])
  if (written !== undefined && project === undefined) throw new EntryFault('Give --firebase-hash-config.')
  const hash = Buffer.from(written ?? '', 'base64')
  return {
    username,
    sub: textOf(localId),
    disabled: user['disabled'] === true,
    ...(written !== undefined &&
      project !== undefined && {
        passwordHash: writeFirebase({
          ...{ ln: project.memoryCost, r: project.rounds, separator: project.separator, signerKey: project.signerKey },
          ...{ salt: Buffer.from(textOf(user['salt']) ?? '', 'base64'), hash },
        }),
      }),
    claims: claimsOf({
      ...{ name: user['displayName'], picture: user['photoUrl'], email, phone_number: phoneNumber },
      email_verified: email === undefined ? undefined : user['emailVerified'],
    }),
  }
}
