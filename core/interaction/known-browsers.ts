import { createHmac, randomBytes } from 'node:crypto'
import { isSameText } from '../oauth/same-text.js'
import { createSharedSecret } from '../oauth/clients/shared-secret.js'
import type { RecordStore } from '../storage/ports.js'
import type { Cookies } from './cookies.js'
import { canonicalUsername } from './username.js'

export interface KnownBrowsers {
  /**
   * Returns the id of this browser, 22 characters, when its cookie proves an earlier sign-in here under the same
   * username. Returns undefined for a cookie that is missing, forged, or of another username. Throws `Unavailable`.
   */
  find(cookie: string | undefined, username: string): Promise<string | undefined>
  /**
   * Returns the `Set-Cookie` values for a browser after a sign-in under this username. The browser keeps its id.
   * Throws `Unavailable`.
   */
  remember(cookie: string | undefined, username: string): Promise<readonly string[]>
}

export interface KnownBrowserOptions {
  /** All replicas share these, so that each accepts the cookies of the others. */
  readonly secrets: RecordStore<string>
  readonly cookies: Cookies
}

/** The number of people who can share a browser. One more drops the one whose last sign-in here is the oldest. */
const maxUsernames = 5
const ttlSeconds = 180 * 86_400

const idLength = 22
/** An entry consists of the id, 128 bits, and the MAC, 256 bits. */
const form = /^[\w-]{65}(?:\.[\w-]{65}){0,4}$/

const entriesOf = (cookie: string | undefined): readonly string[] =>
  cookie !== undefined && form.test(cookie) ? cookie.split('.') : []

/**
 * Tells browsers in which a person has signed in before from others, so that strangers who guess at that person's
 * password do not lock those browsers out (the device cookies of OWASP). The cookie identifies nobody: an entry is a
 * random id and a MAC of id and username, under a secret that all replicas share.
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
      const kept = [entry, ...entries.filter((other) => other !== known)].slice(0, maxUsernames)
      return [cookies.set(cookies.knownBrowser, kept.join('.'), ttlSeconds)]
    },
  }
}
