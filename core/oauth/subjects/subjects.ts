import { createCipheriv, createDecipheriv, createHmac, createSecretKey, hkdfSync, type KeyObject } from 'node:crypto'
import type { Client } from '../clients/client.js'
import { sectorOf } from '../clients/sector.js'

/** A client that a person's subject is disclosed to. */
type Audience = Pick<Client, 'client_id' | 'redirect_uris' | 'sector_identifier_uri' | 'subject_type'>

/** A token in which local subjects are sealed. They cannot be opened in any other token. */
export interface SealedIn {
  readonly clientId: string
  readonly jti: string
}

/**
 * The names of people and their sessions for clients (OIDC Core §8). All records of this server have the local
 * subject. A client with `subject_type: pairwise` sees another one, which is the same for all clients of its sector.
 */
export interface Subjects {
  seenBy(client: Audience, subject: string): string
  /** Returns a pairwise `sid` as well, because a shared one would let two sectors link what they know of a person. */
  sidSeenBy(client: Audience, sid: string): string
  /** Encrypts the local subjects into a text that only this server can read, for a token with a unique `jti`. */
  seal(token: SealedIn, subjects: readonly string[]): string
  /** Returns undefined for a text that was sealed in another token, or under another key. */
  open(token: SealedIn, sealed: string): readonly string[] | undefined
  /** The fingerprint of the key. It distinguishes keys and reveals nothing else of them. Undefined: there is no key. */
  readonly fingerprint: string | undefined
}

/**
 * Texts are padded to blocks of this size, so all but unusually long subjects look alike. A longer one reveals only
 * its number of blocks.
 */
const blockBytes = 64
const tagBytes = 16
/** The nonce may be constant, because each token has its own key, which is used once. */
const nonce = Buffer.alloc(12)

const encode = (subjects: readonly string[]): Buffer => {
  // A line break separates them, because subjects have no control characters (OIDC Core §2: ASCII; `isSubject`).
  const text = Buffer.from(subjects.join('\n'))
  return Buffer.concat([text, Buffer.alloc(-text.length & (blockBytes - 1))])
}

const decode = (block: Buffer): readonly string[] => block.toString('utf8').replace(/\0+$/, '').split('\n')

const derive = (key: string, purpose: string): KeyObject =>
  createSecretKey(Buffer.from(hkdfSync('sha256', key, '', `signet pairwise ${purpose}`, 32)))

const mac = (key: KeyObject, ...parts: readonly string[]): Buffer =>
  createHmac('sha256', key).update(parts.join('\n')).digest()

/**
 * `pairwiseKey` is the secret of the configuration. Without it no client can be pairwise, and a call for one throws.
 */
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
