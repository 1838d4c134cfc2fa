import { nextAttempt, type Attempts } from '../attempts.js'
import type { AttemptLimiter } from '../ports.js'
import type { Connection } from './connection.js'
import { compositeKey } from './keys.js'
import { keepingTime, newToken } from './values.js'

/** Each round that fails is an attempt of another that was counted. */
const maxRounds = 100

const textOf = (answer: unknown): string => (typeof answer === 'string' ? answer : '')

const decode = (text: string): Attempts | undefined => {
  const [, count, last] = /^(\d+) (\d+) /.exec(text) ?? []
  return count === undefined ? undefined : { count: Number(count), last: Number(last) }
}

/** The rule is the one of all adapters; Redis only sees to it that nobody counts beside another. */
export const createAttemptLimiter = (connection: Connection, name: string): AttemptLimiter => ({
  take: async (namespace, id, policy) => {
    const key = compositeKey(name, namespace, id)
    let found = textOf(await connection.call('GET', key))
    for (let round = 0; round < maxRounds; round += 1) {
      const now = Math.floor(connection.clock())
      const { allowed, retryAfterSeconds, attempts, forgetAt } = nextAttempt(decode(found), policy, now)
      if (attempts === undefined) return { allowed, retryAfterSeconds }
      const value = `${String(attempts.count)} ${String(attempts.last)} ${newToken()}`
      const kept = keepingTime((forgetAt - now) / 1000)
      const before = found
      const answer = await connection.run('swap', key, () => [before, value, kept])
      if (answer === 1) return { allowed, retryAfterSeconds }
      found = textOf(answer)
    }
    throw connection.refuse('too many attempts at once')
  },
  clear: async (namespace, id) => {
    await connection.call('DEL', compositeKey(name, namespace, id))
  },
})
