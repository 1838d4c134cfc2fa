import { describe, expect, it } from 'vitest'
import { cacheClients, cachedSeconds, maxClients } from '../../core/oauth/clients/client-directory.js'
import type { Client } from '../../core/oauth/clients/client.js'
import { Unavailable } from '../../core/unavailable.js'

/** A store that counts what it is asked. */
const start = () => {
  const stored = new Map<string, Client>()
  const asked: string[] = []
  let now = 1_000_000
  let down = false
  const store = {
    find: async (id: string) => {
      asked.push(id)
      const found = stored.get(id)
      await Promise.resolve()
      if (down) throw new Unavailable('storage.records', 'no', 'down')
      return found
    },
  }
  return {
    stored,
    asked,
    cache: cacheClients(store, () => now),
    later: (ms: number) => (now += ms),
    break: (broken: boolean) => (down = broken),
  }
}

const cachedMs = cachedSeconds * 1000
const [a, disabled] = [{ client_id: 'a' } as Client, { client_id: 'a', disabled: true } as Client]

describe('clients of a store behind a network', () => {
  it('are read once while cached, however many requests come at once', async () => {
    const { stored, asked, cache, later } = start()
    stored.set('a', a)
    expect(await Promise.all(Array.from({ length: 50 }, () => cache.find('a')))).toEqual(Array(50).fill(a))
    later(cachedMs - 1)
    expect(await cache.find('a')).toBe(a)
    expect(asked).toEqual(['a'])
    later(1)
    expect(await cache.find('a')).toBe(a)
    expect(asked).toEqual(['a', 'a'])
  })

  it('CA16 expire from the cache even if they are requested continuously', async () => {
    const { stored, cache, later } = start()
    stored.set('a', a)
    expect(await cache.find('a')).toBe(a)
    stored.set('a', disabled)
    for (let at = 0; at < cachedMs; at += cachedMs / 10) {
      expect(await cache.find('a')).toBe(a)
      later(cachedMs / 10)
    }
    expect(await cache.find('a')).toBe(disabled)
  })

  it('count their age from before the store was asked', async () => {
    const { stored, cache, later } = start()
    stored.set('a', a)
    const asking = cache.find('a')
    stored.set('a', disabled)
    later(cachedMs)
    expect(await asking).toBe(a)
    expect(await cache.find('a')).toBe(disabled)
  })

  it('that are unknown are cached as unknown for as long', async () => {
    const { stored, asked, cache, later } = start()
    expect(await cache.find('a')).toBeUndefined()
    stored.set('a', a)
    expect(await cache.find('a')).toBeUndefined()
    expect(asked).toEqual(['a'])
    later(cachedMs)
    expect(await cache.find('a')).toBe(a)
  })

  it('are asked for again after an outage at once', async () => {
    const { stored, cache, break: set } = start()
    stored.set('a', a)
    set(true)
    await expect(cache.find('a')).rejects.toThrow(Unavailable)
    set(false)
    expect(await cache.find('a')).toBe(a)
  })

  it('are not kept longer by a clock that is set back', async () => {
    const { stored, asked, cache, later } = start()
    stored.set('a', a)
    await cache.find('a')
    later(-3_600_000)
    await cache.find('a')
    expect(asked).toEqual(['a', 'a'])
  })

  it('are not evicted by unknown ids, but unused ones make room', async () => {
    const { stored, asked, cache } = start()
    stored.set('a', a)
    await cache.find('a')
    for (let index = 0; index < maxClients * 2; index++) await cache.find(`unknown-${String(index)}`)
    expect(asked).toHaveLength(maxClients * 2 + 1)
    await cache.find('a')
    expect(asked).toHaveLength(maxClients * 2 + 1)
    await cache.find('unknown-0')
    expect(asked).toHaveLength(maxClients * 2 + 2)

    for (let index = 0; index < maxClients; index++) stored.set(`known-${String(index)}`, a)
    for (let index = 0; index < maxClients; index++) await cache.find(`known-${String(index)}`)
    asked.length = 0
    await cache.find('a')
    expect(asked).toEqual(['a'])
  })
})
