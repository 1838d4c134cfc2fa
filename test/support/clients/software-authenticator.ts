import { createHash, generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto'
import { cbor, coseKeyOf, flags, sha256, writeAuthenticatorData } from '../forge/authenticator-data.js'

type Json = Record<string, unknown>

/** What of an answer a test makes otherwise. */
export interface Otherwise {
  readonly origin?: string
  readonly rpId?: string
  readonly type?: string
  readonly challenge?: string
  readonly crossOrigin?: boolean
  readonly flags?: number
  readonly counter?: number
  readonly userHandle?: string | null
  readonly id?: string
}

const base64url = (bytes: Buffer): string => bytes.toString('base64url')

/** A double of an authenticator and its browser: it signs what it is told, right or wrong. One credential each. */
export class SoftwareAuthenticator {
  readonly credentialId = randomBytes(32)
  counter = 0
  readonly #key: KeyObject
  readonly #jwk: Json
  readonly #origin: string
  #userHandle: string | undefined

  constructor(origin: string) {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    this.#key = privateKey
    this.#jwk = { ...publicKey.export({ format: 'jwk' }) }
    this.#origin = origin
  }

  get id(): string {
    return base64url(this.credentialId)
  }

  /** The COSE_Key, base64url. */
  get publicKey(): string {
    return base64url(cbor(coseKeyOf(this.#jwk)))
  }

  #clientData(type: string, challenge: unknown, otherwise: Otherwise): Buffer {
    const { origin = this.#origin, crossOrigin = false } = otherwise
    const said = { type: otherwise.type ?? type, challenge: otherwise.challenge ?? challenge, origin, crossOrigin }
    return Buffer.from(JSON.stringify(said))
  }

  /** Answers `PublicKeyCredentialCreationOptionsJSON`, as text. */
  register(options: Json, otherwise: Otherwise = {}): string {
    const { id: rpId } = options['rp'] as { readonly id: string }
    this.#userHandle = (options['user'] as { readonly id: string }).id
    const authData = writeAuthenticatorData({
      rpId: otherwise.rpId ?? rpId,
      flags: (otherwise.flags ?? flags.present | flags.verified) | flags.attested,
      counter: otherwise.counter ?? this.counter,
      aaguid: Buffer.alloc(16),
      credentialId: this.credentialId,
      key: this.#jwk,
    })
    const object = new Map<string, unknown>([
      ['fmt', 'none'],
      ['attStmt', new Map()],
      ['authData', new Uint8Array(authData)],
    ])
    return JSON.stringify({
      id: otherwise.id ?? this.id,
      response: {
        clientDataJSON: base64url(this.#clientData('webauthn.create', options['challenge'], otherwise)),
        attestationObject: base64url(cbor(object)),
        transports: ['internal', 'telepathy'],
      },
    })
  }

  /** Answers `PublicKeyCredentialRequestOptionsJSON`, as text. Counts up if the counter is not 0. */
  signIn(options: Json, otherwise: Otherwise = {}): string {
    if (this.counter > 0) this.counter++
    const clientData = this.#clientData('webauthn.get', options['challenge'], otherwise)
    const head = Buffer.alloc(5)
    head.writeUInt8(otherwise.flags ?? flags.present | flags.verified)
    head.writeUInt32BE(otherwise.counter ?? this.counter, 1)
    const authData = Buffer.concat([sha256(otherwise.rpId ?? String(options['rpId'])), head])
    const hash = createHash('sha256').update(clientData).digest()
    const { userHandle = this.#userHandle } = otherwise
    return JSON.stringify({
      id: otherwise.id ?? this.id,
      response: {
        clientDataJSON: base64url(clientData),
        authenticatorData: base64url(authData),
        signature: base64url(sign('sha256', Buffer.concat([authData, hash]), this.#key)),
        ...(userHandle !== null && { userHandle }),
      },
    })
  }
}
