import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  days,
  expectPlanned,
  kidOfToken,
  letPass,
  look,
  prepareRotation,
  slotsIn,
  startTwo,
  timeout,
  tokenOf,
} from './rotation.js'

describe('keys that rotate themselves, in files', () => {
  it('exist from the first start on, and are kept over restarts', async () => {
    const { start, time } = await prepareRotation(slotsIn('local'))
    const first = await (async () => {
      await using server = await start()
      await look(time, server)
      const kids = await server.kids()
      expect(kids).toEqual(['es-2', 'es-1', 'rs-2', 'rs-1', 'ed-2', 'ed-1'])
      expect(kidOfToken(await tokenOf(server))).toBe('es-1')
      const files = (await readdir(join(server.directory, 'keys'))).toSorted()
      expect(files).toEqual(kids.map((kid) => `signet-${kid}`).toSorted())
      return kids
    })()
    await using server = await start()
    expect(await server.kids()).toEqual(first)
  })

  it(
    `change for ${String(days)} days on two replicas, and no relying party meets one that it cannot know`,
    async () => {
      const rotating = await startTwo(slotsIn('local'))
      const keys = await expectPlanned(rotating, await letPass(rotating, days))
      const files = await readdir(join(rotating.a.directory, 'keys'))
      expect(files.toSorted()).toEqual(keys.map(({ name }) => name).toSorted())
    },
    timeout,
  )
})
