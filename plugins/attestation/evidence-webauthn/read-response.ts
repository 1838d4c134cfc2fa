import { isObject } from '../../../core/api/index.js'

/** The checked members of a `RegistrationResponseJSON` (Web Authentication Level 3 §5.1.8), each in base64url. */
export interface Response {
  readonly id: string
  readonly clientDataJSON: string
  readonly attestationObject: string
}

const base64url = /^[\w-]+$/

/** Undefined for anything else. Other members are not signed, and are ignored. */
export const readResponse = (credential: unknown): Response | undefined => {
  if (!isObject(credential) || !isObject(credential['response'])) return undefined
  const { id } = credential
  const { clientDataJSON, attestationObject } = credential['response']
  const isText = (one: unknown): one is string => typeof one === 'string' && base64url.test(one)
  return isText(id) && isText(clientDataJSON) && isText(attestationObject)
    ? { id, clientDataJSON, attestationObject }
    : undefined
}
