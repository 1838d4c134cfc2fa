import { equal } from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { EphemeralBackend } from '../../storage/ports.js'
import type { Describe, Subject } from './subject.js'

/** The part of the storage contract on claims. */
export const replayCases = ({ backend, clock, pass }: Subject<EphemeralBackend>, describe: Describe): void => {
  describe('replay guard', (it) => {
    const claim = (namespace: string, id: string, ttlSeconds: number) =>
      backend().replayGuard('contract_replays').claim(namespace, id, ttlSeconds, clock())

    it('claims once within the time, and again after it', async () => {
      const id = randomUUID()
      equal(await claim('n', id, 60), true)
      equal(await claim('n', id, 60), false)
      pass(59)
      equal(await claim('n', id, 60), false)
      pass(1)
      equal(await claim('n', id, 60), true)
      equal(await claim('n', id, 60), false)
    })

    it('lets one of 50 parallel claims win, also when an old one just expired', async () => {
      const id = randomUUID()
      for (const lifetime of [60, 30]) {
        const claims = await Promise.all(Array.from({ length: 50 }, () => claim('n', id, lifetime)))
        equal(claims.filter(Boolean).length, 1)
        pass(lifetime)
      }
    })

    it('keeps namespaces apart, wherever namespace and id are cut', async () => {
      const id = randomUUID()
      const pairs = [
        ['a', `b${id}`],
        ['ab', id],
        ['', `ab${id}`],
        [`ab${id}`, ''],
        ['a:', `b${id}`],
        ['1:a', `b${id}`],
        [`a\0b`, id],
        ['a', `\0b${id}`],
      ] as const
      for (const [namespace, value] of pairs) equal(await claim(namespace, value, 60), true)
      for (const [namespace, value] of pairs) equal(await claim(namespace, value, 60), false)
    })

    it('takes ids of any length: a token names its own jti', async () => {
      const id = randomUUID()
      const long = id.repeat(500)
      equal(await claim(long, `${long}a`, 60), true)
      equal(await claim(long, `${long}b`, 60), true)
      equal(await claim(long, `${long}a`, 60), false)
    })
  })
}
