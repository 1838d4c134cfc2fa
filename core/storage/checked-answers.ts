import { Unavailable } from '../unavailable.js'
import { yesOrNo } from '../yes-or-no.js'
import type { EphemeralBackend, StorageBackend } from './ports.js'

/** The methods with a boolean answer, by kind of collection. Single use and revocation depend on each. */
const questions: Partial<Record<keyof StorageBackend, readonly string[]>> = {
  replayGuard: ['claim'],
  records: ['put', 'remove'],
  revocations: ['isRevoked'],
  deviceCodes: ['start'],
}

type Call = (...parameters: readonly unknown[]) => unknown

/**
 * Behaves like `target`, which stays the receiver of calls, with some members replaced. A copy would lose members of
 * its class.
 */
const replacing = <T extends object>(target: T, replace: (name: string, call: Call) => Call): T =>
  new Proxy({} as T, {
    get: (_, name) => {
      const member: unknown = Reflect.get(target, name)
      if (typeof member !== 'function') return member
      const call = member.bind(target) as Call
      return typeof name === 'string' ? replace(name, call) : call
    },
  })

const checkedCollection = (name: string, collection: object, asked: readonly string[], component: string): object =>
  replacing(collection, (verb, call) => {
    if (!asked.includes(verb)) return call
    return async (...parameters) => {
      const answer = await call(...parameters)
      try {
        return yesOrNo(`${name}.${verb} of the adapter`, answer)
      } catch (cause) {
        throw new Unavailable(component, 'unknown', 'the adapter answered neither true nor false', { cause })
      }
    }
  })

/** Ensures that boolean answers of a deployer's adapter are booleans; any other value counts as an outage. */
export const withCheckedAnswers = <Backend extends EphemeralBackend>(backend: Backend, component: string): Backend =>
  replacing(backend, (kind, call) => {
    const asked = questions[kind as keyof StorageBackend]
    return asked === undefined
      ? call
      : (...parameters) => checkedCollection(kind, call(...parameters) as object, asked, component)
  })
