import type { JsonObject, JsonValue } from '../json.js'

/** Names of fields whose values are never output (faults, "Operations"). Compared in lower case, with `-` as `_`. */
const secretNames = new Set([
  ...['authorization', 'proxy_authorization', 'cookie', 'set_cookie', 'dpop', 'proof', 'pin', 'password', 'passphrase'],
  ...['current_password', 'new_password', 'new_password_again'],
  ...[
    'code',
    'user_code',
    'device_code',
    'auth_req_id',
    'code_verifier',
    'verifier',
    'challenge',
    'challenge_signature',
  ],
  ...['token', 'access_token', 'refresh_token', 'id_token', 'id_token_hint', 'subject_token', 'actor_token'],
  ...['registration_access_token', 'logout_token', 'secret', 'client_secret', 'assertion', 'client_assertion'],
  ...['attestation', 'second_factor', 'request', 'query', 'd', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k', 'priv'],
])

const redacted = '[redacted]'
const maxDepth = 8

/** Replaces every secret field, at any depth. */
export const redact = (fields: JsonObject): JsonObject => (isClean(fields) ? fields : redactObject(fields, 0))

/**
 * Whether the fields are flat and have nothing to replace, as in nearly every line, so that they need not be copied.
 */
const isClean = (fields: JsonObject): boolean => {
  for (const name in fields) {
    const value = fields[name]
    if (isSecretName(name) || (typeof value === 'string' ? suspect.test(value) : typeof value === 'object'))
      return false
  }
  return true
}

const redactObject = (object: JsonObject, depth: number): JsonObject => {
  const copy: Record<string, JsonValue | undefined> = {}
  for (const name in object) {
    const value = object[name]
    copy[name] = isSecretName(name)
      ? redacted
      : typeof value === 'string'
        ? redactText(value)
        : redactValue(value, depth)
  }
  return copy
}

const redactValue = (value: JsonValue | undefined, depth: number): JsonValue | undefined => {
  if (typeof value === 'string') return redactText(value)
  if (typeof value !== 'object' || value === null) return value
  if (depth === maxDepth) return '[deep]'
  if (Array.isArray(value)) return value.map((item: JsonValue) => redactValue(item, depth + 1) ?? null)
  return redactObject(value as JsonObject, depth + 1)
}

const isSecretName = (name: string): boolean =>
  secretNames.has(name) || (/[A-Z-]/.test(name) && secretNames.has(name.toLowerCase().replaceAll('-', '_')))

const suspect = /eyJ| |@/

/**
 * Redacts a run of letters, dots and hyphens from the start of a JWT or JWE on. Each character is read a few times at
 * most.
 */
const redactRun = (run: string): string => {
  const start = run.search(/\beyJ[\w-]/)
  return start === -1 || !run.includes('.', start) ? run : `${run.slice(0, start)}${redacted}`
}

/**
 * Redacts JWTs, credentials of RFC 9110 §11.4 and credentials in URLs anywhere in the text, because messages of
 * libraries quote input.
 */
export const redactText = (text: string): string =>
  !suspect.test(text)
    ? text
    : text
        .replace(/(?<![\w.-])[\w.-]+/g, redactRun)
        .replace(/\b(Bearer|DPoP|Basic) +[\w\-.~+/=]+/gi, `$1 ${redacted}`)
        .replace(/(\w:\/\/)[^\s/@]+@/g, `$1${redacted}@`)
