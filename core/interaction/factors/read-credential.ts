import { isObject } from '../../json.js'

const base64url = /^[\w-]+$/
/** Characters. A browser sends a few kilobytes at most. */
const mostCharacters = 16_384

/** The members in `names`, all base64url, and the credential's `response`. Undefined for anything else. */
const readTexts = <Name extends string>(
  response: Readonly<Record<string, unknown>>,
  names: readonly Name[],
): Readonly<Record<Name, string>> | undefined => {
  const texts = names.map((name) => [name, response[name]] as const)
  return texts.every(([, text]) => typeof text === 'string' && base64url.test(text))
    ? (Object.fromEntries(texts) as Record<Name, string>)
    : undefined
}

const parse = (text: string | undefined): unknown => {
  if (text === undefined || text.length > mostCharacters) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export interface SignInCredential {
  readonly id: string
  readonly clientDataJSON: string
  readonly authenticatorData: string
  readonly signature: string
  readonly userHandle?: string
}

export interface NewCredential {
  readonly id: string
  readonly clientDataJSON: string
  readonly attestationObject: string
  readonly transports: readonly string[]
}

/** `id` and `response` of a `PublicKeyCredential` as JSON. */
const readCredential = (text: string | undefined) => {
  const credential = parse(text)
  if (!isObject(credential) || !isObject(credential['response'])) return undefined
  const { id, response } = credential
  return typeof id === 'string' && id.length <= 1400 && base64url.test(id) ? { id, response } : undefined
}

/**
 * An `AuthenticationResponseJSON` (Web Authentication Level 3 §5.1.8) as text. Other members are not signed, and are
 * ignored.
 */
export const readSignIn = (text: string | undefined): SignInCredential | undefined => {
  const read = readCredential(text)
  const texts = read && readTexts(read.response, ['clientDataJSON', 'authenticatorData', 'signature'])
  if (read === undefined || texts === undefined) return undefined
  const { userHandle } = read.response
  if (userHandle === undefined || userHandle === null) return { id: read.id, ...texts }
  return typeof userHandle === 'string' && base64url.test(userHandle)
    ? { id: read.id, ...texts, userHandle }
    : undefined
}

/** Whether it was made in a frame of another origin. Throws like `JSON.parse`. */
export const isCrossOrigin = (clientDataJSON: string): boolean =>
  (JSON.parse(Buffer.from(clientDataJSON, 'base64url').toString()) as Record<string, unknown>)['crossOrigin'] === true

const knownTransports = new Set(['ble', 'cable', 'hybrid', 'internal', 'nfc', 'smart-card', 'usb'])

/** Like `readSignIn`, for a `RegistrationResponseJSON`. */
export const readNew = (text: string | undefined): NewCredential | undefined => {
  const read = readCredential(text)
  const texts = read && readTexts(read.response, ['clientDataJSON', 'attestationObject'])
  if (read === undefined || texts === undefined) return undefined
  const { transports } = read.response
  const all = Array.isArray(transports) ? transports : []
  return { id: read.id, ...texts, transports: all.map(String).filter((one) => knownTransports.has(one)) }
}
