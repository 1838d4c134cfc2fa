import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { createEndSubject, findAuthTime, signInOf } from '../../core/oauth/subjects/subject-end.js'
import { openEmbedded } from '../../stores/embedded/open-embedded.js'

// What is over after an end, to the second and within it.

const directory = mkdtempSync(join(tmpdir(), 'signet-subject-end-'))
let now = Date.UTC(2026, 10, 20, 12)
const store = await openEmbedded({ path: directory, clock: () => now })
const revocations = store.revocations('revocations')
const end = createEndSubject({ revocations, clock: () => now, lifetimeSeconds: 3600, notifyClients: async () => {} })
const isOver = (subject: string, authTime: number) => revocations.isRevoked([], signInOf(subject, authTime))
/** The `auth_time` of a sign-in that is good. */
const signIn = async (subject: string): Promise<number> => {
  const authTime = await findAuthTime(revocations, subject, now)
  expect(authTime).toBeDefined()
  expect(await isOver(subject, authTime!)).toBe(false)
  return authTime!
}
afterAll(async () => {
  await store[Symbol.asyncDispose]()
  rmSync(directory, { recursive: true })
})

it('SE13 ends sign-ins that follow each other within one second, each by the next end', async () => {
  const authTimes: number[] = []
  for (let round = 0; round < 4; round += 1) {
    authTimes.push(await signIn('alice'))
    now += 50
    await end('alice')
    for (const authTime of authTimes) expect(await isOver('alice', authTime)).toBe(true)
    now += 50
  }
  expect(await signIn('alice')).toBeLessThanOrEqual(Math.floor(now / 1000) + 4)
  expect(await signIn('bob')).toBe(Math.floor(now / 1000))
})

it('SE13 stays at the second of the clock when the last end is a while ago', async () => {
  await end('carol')
  now += 2000
  expect(await signIn('carol')).toBe(Math.floor(now / 1000))
  await end('carol')
  now += 1000
  expect(await signIn('carol')).toBe(Math.floor(now / 1000))
})

it('SE13 refuses a sign-in that began before the end, and none that began after it', async () => {
  const begun = now
  now += 10
  await end('dave')
  expect(await findAuthTime(revocations, 'dave', begun)).toBeUndefined()
  now += 1
  await signIn('dave')
})

it('SE12 leaves word for clients before anything ends, and once more of what was granted until it was over', async () => {
  const authTime = await signIn('erin')
  const over: boolean[] = []
  const tell = async (subject: string): Promise<void> => {
    over.push(await isOver(subject, authTime))
  }
  await createEndSubject({ revocations, clock: () => now, lifetimeSeconds: 3600, notifyClients: tell })('erin')
  expect(over).toEqual([false, true])
})
