const encode = (bytes) =>
  btoa(String.fromCharCode(...new Uint8Array(bytes))).replace(/[+/=]/g, (sign) => ({ '+': '-', '/': '_' })[sign] ?? '')
const bytesOf = (text) => new TextEncoder().encode(text)
const encodeJson = (value) => encode(bytesOf(JSON.stringify(value)))

/**
 * Repeats what nobody could answer, for as long as a challenge is good: the factor may be used up already. Where a person
 * has to approve first, it waits an hour.
 */
const post = async (url, body) => {
  const request = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) }
  for (const began = Date.now(); ;) {
    const response = await fetch(url, request).catch(() => new Response('{}', { status: 504 }))
    const answer = await response.json().catch(() => undefined)
    if (response.ok && answer) return answer
    const isPending = answer?.error_code === 'ApprovalPending'
    const again = isPending || response.ok || response.status === 429 || response.status >= 500
    if (!again || Date.now() > began + (isPending ? 3_600_000 : 300_000))
      throw Object.assign(new Error(answer?.error_description ?? 'Nobody answers.'), { code: answer?.error_code })
    await new Promise((resume) => setTimeout(resume, 1000 * (response.headers.get('Retry-After') ?? 5)))
  }
}

/** Keep the pair in IndexedDB, which takes it as it is: no script can read the private key, nor can you. */
export const newKeys = () =>
  crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, false, ['sign', 'verify'])

const publicJwk = async ({ publicKey }) => {
  const { kty, crv, x, y } = await crypto.subtle.exportKey('jwk', publicKey)
  return { kty, crv, x, y }
}

const complete = async (issuer, { privateKey }, { challenge }) => {
  const said = { challenge, aud: issuer, iat: Math.floor(Date.now() / 1000) }
  const input = `${encodeJson({ alg: 'ES256', typ: 'enrol-proof+jws' })}.${encodeJson(said)}`
  const signature = await crypto.subtle.sign({ name: 'ECDSA', hash: 'SHA-256' }, privateKey, bytesOf(input))
  return post(`${issuer}/enrol/complete`, { challenge, challenge_signature: `${input}.${encode(signature)}` })
}

/** `principal`: subject, principal_id, principal_type, attributes. Gives attestation, expires_in, reissue_after. */
export const enrol = async (issuer, keys, principal, second_factor) => {
  const body = { ...principal, public_jwk: await publicJwk(keys), second_factor }
  return complete(issuer, keys, await post(`${issuer}/enrol`, body))
}

export const renew = async (issuer, keys, attestation) =>
  complete(issuer, keys, await post(`${issuer}/reissue`, { attestation, public_jwk: await publicJwk(keys) }))
