import { hash as hashArgon2, verify as verifyArgon2 } from '@node-rs/argon2'
import { randomBytes } from 'node:crypto'
import { addressBucket } from '../address-bucket.js'
import { FairQueue, type QueueEntry } from '../fair-queue.js'
import { Unavailable } from '../unavailable.js'
import { findForeignScheme } from './foreign-hashes/foreign-hashes.js'
import type { ForeignScheme } from './foreign-hashes/scheme.js'
import type { PasswordHasher } from './account-directory.js'

/** Argon2id as OWASP's password storage cheat sheet recommends it: 19 MiB, two passes, one lane. */
const parameters = { memoryCost: 19_456, timeCost: 2, parallelism: 1, outputLen: 32 } as const

const maxPasswordBytes = 1024

/** Hashes that this version makes; any other is replaced at the next sign-in. */
const own = new RegExp(
  `^\\$argon2id\\$v=19\\$m=${String(parameters.memoryCost)},t=${String(parameters.timeCost)},` +
    `p=${String(parameters.parallelism)}\\$[A-Za-z0-9+/]{11,86}\\$[A-Za-z0-9+/]{22,86}$`,
)

export interface PasswordHasherOptions {
  /**
   * The number of hashes that run at once on libuv's pool; its other threads stay free for signatures. The default is
   * 2.
   */
  readonly concurrency?: number
  /**
   * The number of callers that may wait for their turn. One more gets `Unavailable`, or the last caller of the
   * address with the most does. The default is 64.
   */
  readonly maxWaiting?: number
}

/**
 * Creates an Argon2id hasher (RFC 9106) that runs off the event loop. Passwords are prepared according to RFC 8265
 * §4.2, so that one password typed on two keyboards stays the same password. `hash` throws `RangeError` for an empty
 * password or one over 1024 bytes; `verify` returns false for them, in the usual time. Addresses take turns, so that
 * none of them keeps the others waiting. Both throw `Unavailable` when too many callers wait.
 */
export const createPasswordHasher = (options: PasswordHasherOptions = {}): PasswordHasher => {
  const inTurn = createTurns(options.concurrency ?? 2, options.maxWaiting ?? 64)
  const nobody = unmatchableHash()
  /**
   * Other products hashed the characters as they were typed. A refusal also takes the time of a hash of ours, so that
   * a fast digest does not show that there is an account.
   */
  const verifyForeign = async (scheme: ForeignScheme, password: string, hash: string): Promise<boolean> => {
    if (await scheme.verify(password, hash)) return true
    const prepared = preparePassword(password)
    if (prepared !== password && (await scheme.verify(prepared, hash))) return true
    await verifyArgon2(nobody, password)
    return false
  }
  return {
    hash: async (password, address) => {
      if (!isAcceptable(password)) throw new RangeError('A password has 1 to 1024 bytes.')
      return await inTurn(address, () => hashArgon2(preparePassword(password), parameters))
    },
    verify: async (password, hash, address) => {
      const foreign = hash === undefined || own.test(hash) ? undefined : findForeignScheme(hash)
      if (hash !== undefined && foreign !== undefined && isAcceptable(password))
        return await inTurn(address, () => verifyForeign(foreign, password, hash))
      const decidable = hash !== undefined && own.test(hash) && isAcceptable(password)
      const matches = await inTurn(address, () =>
        decidable
          ? verifyArgon2(hash, preparePassword(password))
          : verifyArgon2(nobody, password.slice(0, maxPasswordBytes)),
      )
      return decidable && matches
    },
    isOwn: (hash) => own.test(hash),
  }
}

const isAcceptable = (password: string): boolean =>
  password !== '' && password.length <= maxPasswordBytes && Buffer.byteLength(password) <= maxPasswordBytes

/** Applies the mappings of the OpaqueString profile: non-ASCII spaces become U+0020, then NFC (RFC 8265 §4.2.2). */
export const preparePassword = (password: string): string => password.replace(/\p{Zs}/gu, ' ').normalize('NFC')

/** Creates a hash that costs as much to verify as a real one and matches no known password. */
const unmatchableHash = (): string => {
  const { memoryCost, timeCost, parallelism, outputLen } = parameters
  const base64 = (bytes: number): string => randomBytes(bytes).toString('base64').replace(/=+$/, '')
  return `$argon2id$v=19$m=${memoryCost},t=${timeCost},p=${parallelism}$${base64(16)}$${base64(outputLen)}`
}

interface Waiting extends QueueEntry<'password'> {
  readonly admit: () => void
  readonly refuse: () => void
}

type InTurn = <T>(address: string | undefined, work: () => Promise<T>) => Promise<T>

/**
 * Runs at most `concurrency` jobs at once. The addresses of waiting callers take turns, and callers without one count
 * as one address.
 */
const createTurns = (concurrency: number, maxWaiting: number): InTurn => {
  const waiting = new FairQueue<'password', Waiting>(maxWaiting, ['password'])
  let running = 0
  const enter = (address = ''): Promise<void> | undefined => {
    if (running < concurrency) {
      running++
      return undefined
    }
    return new Promise((admit, reject) => {
      const refuse = () => reject(new Unavailable('passwords', 'no', 'Too many passwords are waiting to be checked.'))
      waiting.push({ priority: 'password', owner: addressBucket(address) ?? address, admit, refuse })?.refuse()
    })
  }
  const leave = (): void => {
    const next = waiting.shift()
    if (next) next.admit()
    else running--
  }
  return async (address, work) => {
    await enter(address)
    try {
      return await work()
    } catch (cause) {
      throw new Unavailable('passwords', 'no', 'A password could not be hashed.', { cause })
    } finally {
      leave()
    }
  }
}
