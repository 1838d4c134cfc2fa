import { expect, it } from 'vitest'
import { createRemoteKeySets } from '../../core/outbound/remote-key-sets.js'
import { Unavailable } from '../../core/unavailable.js'
import { noLog } from '../../core/observe/log.js'
import { newAssertionKey } from '../support/clients/client-assertion.js'

const key = newAssertionKey('ES256', 'one')
const wanted = { kid: 'one', alg: 'ES256' } as const
const hour = 3_600_000

/** A set behind an address, and how often it was asked for. */
const setUp = () => {
  const state = { now: 1_790_000_000_000, down: false, asked: 0 }
  const fetch = () => {
    state.asked += 1
    if (state.down) return Promise.reject(new Unavailable('outbound', 'no', 'down'))
    return Promise.resolve(Buffer.from(JSON.stringify({ keys: [key.publicJwk] })))
  }
  const sets = createRemoteKeySets({ owner: 'client', fetch, clock: () => state.now, log: noLog })
  return { state, find: () => sets.find('client', 'https://client.example/jwks.json', (set) => set.select(wanted)) }
}

it('F23 a clock that is set back keeps no set for longer', async () => {
  const { state, find } = setUp()
  expect(await find()).toHaveLength(1)
  state.now -= hour
  expect(await find()).toHaveLength(1)
  expect(state.asked).toBe(2)
  state.now += 599_000
  expect(await find()).toHaveLength(1)
  expect(state.asked).toBe(2)
})

it('F23 a clock that is set back makes no outage last longer', async () => {
  const { state, find } = setUp()
  state.down = true
  await expect(find()).rejects.toThrow(Unavailable)
  await expect(find()).rejects.toThrow(Unavailable)
  expect(state.asked).toBe(1)
  state.down = false
  state.now -= hour
  expect(await find()).toHaveLength(1)
})
