import { toBase64Url } from './demo-jwt.js'

const algorithm = { name: 'ECDSA', namedCurve: 'P-256' }

const encode = (value) => toBase64Url(new TextEncoder().encode(JSON.stringify(value)))

/** A key that scripts can use and not read, not even this one. */
export const newKeyPair = async () => await crypto.subtle.generateKey(algorithm, false, ['sign', 'verify'])

/** The public half, in the one form that is accepted, and its thumbprint (RFC 7638 §3). */
export const describeKey = async ({ publicKey }) => {
  const { kty, crv, x, y } = await crypto.subtle.exportKey('jwk', publicKey)
  const members = new TextEncoder().encode(JSON.stringify({ crv, kty, x, y }))
  return { jwk: { kty, crv, x, y }, jkt: toBase64Url(await crypto.subtle.digest('SHA-256', members)) }
}

/** Signs a challenge for `issuer` and for nobody else. */
export const signChallenge = async ({ privateKey }, challenge, issuer) => {
  const header = { alg: 'ES256', typ: 'enrol-proof+jws' }
  const input = `${encode(header)}.${encode({ challenge, aud: issuer, iat: Math.floor(Date.now() / 1000) })}`
  const hashed = { name: 'ECDSA', hash: 'SHA-256' }
  const signature = await crypto.subtle.sign(hashed, privateKey, new TextEncoder().encode(input))
  return `${input}.${toBase64Url(signature)}`
}

const settled = (request) =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })

const withStore = async (mode, work) => {
  const opening = indexedDB.open('signet-demo')
  opening.onupgradeneeded = () => opening.result.createObjectStore('devices')
  const database = await settled(opening)
  try {
    return await settled(work(database.transaction('devices', mode).objectStore('devices')))
  } finally {
    database.close()
  }
}

/** What this browser keeps for an issuer: its key, which stays inside, and the last attestation. */
export const openDeviceStore = (issuer) => ({
  find: async () => await withStore('readonly', (devices) => devices.get(issuer)),
  save: async (device) => await withStore('readwrite', (devices) => devices.put(device, issuer)),
  remove: async () => await withStore('readwrite', (devices) => devices.delete(issuer)),
})
