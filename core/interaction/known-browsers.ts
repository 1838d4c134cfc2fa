import { createHmac, randomBytes } from 'node:crypto'
import { isSameText } from '../oauth/same-text.js'
import { createSharedSecret } from '../oauth/clients/shared-secret.js'
import type { RecordStore } from '../storage/ports.js'
import type { Cookies } from './cookies.js'
import { canonicalUsername } from './username.js'

export interface KnownBrowsers {
  /**
   * The id of this browser, 22 characters, when its cookie proves that somebody has signed in here under the same
   * username; undefined for a cookie that is missing, tampered with, or of another username. Throws `Unavailable`.
   */
  find(cookie: string | undefined, username: string): Promise<string | undefined>
  /**
   * `Set-Cookie` values for a browser in which somebody has just signed in under this username. It keeps its id. Throws
   * `Unavailable`.
   */
  remember(cookie: string | undefined, username: string): Promise<readonly string[]>
}

export interface KnownBrowserOptions {
  /** Of all replicas: what one hands out the others accept. */
  readonly secrets: RecordStore<string>
  readonly cookies: Cookies
}

/** People who share a browser. One more drops the one who has not signed in here for longest. */
const mostUsernames = 5
const ttlSeconds = 180 * 86_400

const idLength = 22
/** The id, 128 bits, and the MAC, 256 bits. */
const form = /^[\w-]{65}(?:\.[\w-]{65}){0,4}$/

const entriesOf = (cookie: string | undefined): readonly string[] =>
  cookie !== undefined && form.test(cookie) ? cookie.split('.') : []

/**
 * Tells a browser in which a person has signed in before from any other, so that strangers who guess at that person's
 * password do not lock it out (the device cookies of OWASP). The cookie names nobody: an entry is a random id and a MAC
 * of id and username, under a secret that all replicas share.
 */
export const createKnownBrowsers = ({ secrets, cookies }: KnownBrowserOptions): KnownBrowsers => {
  const secret = createSharedSecret(secrets, 'known_browsers')

  const seal = async (id: string, name: string): Promise<string> => {
    const mac = createHmac('sha256', await secret()).update(`${id}\n${name}`)
    return `${id}${mac.digest('base64url')}`
  }

  const findEntry = async (entries: readonly string[], name: string): Promise<string | undefined> => {
    for (const entry of entries) if (isSameText(await seal(entry.slice(0, idLength), name), entry)) return entry
    return undefined
  }

  return {
    async find(cookie, username) {
      const name = canonicalUsername(username)
      const entry = name === undefined ? undefined : await findEntry(entriesOf(cookie), name)
      return entry?.slice(0, idLength)
    },
    async remember(cookie, username) {
      const name = canonicalUsername(username)
      if (name === undefined) return []
      const entries = entriesOf(cookie)
      const known = await findEntry(entries, name)
      const entry = known ?? (await seal(randomBytes(16).toString('base64url'), name))
      const kept = [entry, ...entries.filter((other) => other !== known)].slice(0, mostUsernames)
      return [cookies.set(cookies.knownBrowser, kept.join('.'), ttlSeconds)]
    },
  }
}
