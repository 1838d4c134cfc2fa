import { createCipheriv, createDecipheriv, createHmac, createSecretKey, hkdfSync, type KeyObject } from 'node:crypto'
import type { Client } from '../clients/client.js'
import { sectorOf } from '../clients/sector.js'

/** A client that learns who a person is. */
type Audience = Pick<Client, 'client_id' | 'redirect_uris' | 'sector_identifier_uri' | 'subject_type'>

/** A token in which local subjects are sealed: they open in no other. */
export interface SealedIn {
  readonly clientId: string
  readonly jti: string
}

/**
 * How people and their sessions are called towards clients (OIDC Core §8). Everything that this server keeps has the local
 * subject; a client with `subject_type: pairwise` is told another one, the same for all clients of its sector.
 */
export interface Subjects {
  seenBy(client: Audience, subject: string): string
  /** `sid` would join what two sectors know of a person, so it is pairwise, too. */
  sidSeenBy(client: Audience, sid: string): string
  /** The local subjects as a text that nobody else can read, for a token whose `jti` no other has. */
  seal(token: SealedIn, subjects: readonly string[]): string
  /** Undefined for what was sealed in another token, or under another key. */
  open(token: SealedIn, sealed: string): readonly string[] | undefined
  /** Of the key: tells it from another, and tells nothing else of it. Undefined: there is none. */
  readonly fingerprint: string | undefined
}

/** A longer subject shows how many such blocks it takes: all others look alike. */
const blockBytes = 64
const tagBytes = 16
/** Each token has a key of its own, which is used once. */
const nonce = Buffer.alloc(12)

const encode = (subjects: readonly string[]): Buffer => {
  // No subject has a control character (OIDC Core §2: ASCII; `isSubject`).
  const text = Buffer.from(subjects.join('\n'))
  return Buffer.concat([text, Buffer.alloc(-text.length & (blockBytes - 1))])
}

const decode = (block: Buffer): readonly string[] => block.toString('utf8').replace(/\0+$/, '').split('\n')

const derive = (key: string, purpose: string): KeyObject =>
  createSecretKey(Buffer.from(hkdfSync('sha256', key, '', `signet pairwise ${purpose}`, 32)))

const mac = (key: KeyObject, ...parts: readonly string[]): Buffer =>
  createHmac('sha256', key).update(parts.join('\n')).digest()

/** `pairwiseKey`: the secret of the configuration; without one no client can be pairwise, and a call for one throws. */
export const createSubjects = (pairwiseKey?: string): Subjects => {
  const keys = pairwiseKey !== undefined && {
    // OIDC Core §8.1 leaves the function to the server.
    subject: createSecretKey(Buffer.from(pairwiseKey)),
    sid: derive(pairwiseKey, 'sid'),
    seal: derive(pairwiseKey, 'seal'),
  }
  const keyFor = (name: keyof Exclude<typeof keys, false>): KeyObject => {
    if (keys === false) throw new Error('there is no pairwise_key')
    return keys[name]
  }
  const seenAs = (name: 'subject' | 'sid', client: Audience, local: string): string =>
    client.subject_type === 'pairwise' ? mac(keyFor(name), sectorOf(client), local).toString('base64url') : local
  const keyOf = ({ clientId, jti }: SealedIn): Buffer => mac(keyFor('seal'), clientId, jti)

  return {
    seenBy: (client, subject) => seenAs('subject', client, subject),
    sidSeenBy: (client, sid) => seenAs('sid', client, sid),
    seal(token, subjects) {
      const cipher = createCipheriv('aes-256-gcm', keyOf(token), nonce)
      const sealed = [cipher.update(encode(subjects)), cipher.final(), cipher.getAuthTag()]
      return Buffer.concat(sealed).toString('base64url')
    },
    open(token, sealed) {
      if (keys === false) return undefined
      const bytes = Buffer.from(sealed, 'base64url')
      if (bytes.length < blockBytes + tagBytes) return undefined
      const decipher = createDecipheriv('aes-256-gcm', keyOf(token), nonce, { authTagLength: tagBytes })
      try {
        decipher.setAuthTag(bytes.subarray(-tagBytes))
        return decode(Buffer.concat([decipher.update(bytes.subarray(0, -tagBytes)), decipher.final()]))
      } catch {
        return undefined
      }
    },
    fingerprint:
      pairwiseKey === undefined ? undefined : derive(pairwiseKey, 'fingerprint').export().toString('base64url'),
  }
}
