import { beforeAll, describe, expect, it } from 'vitest'
import type { StorageBackend } from '../../core/storage/ports.js'
import { showPassword } from '../support/clients/second-factor.js'
import { SoftwareAuthenticator } from '../support/clients/software-authenticator.js'
import { disposeAfterAll } from '../support/dispose-after-all.js'
import { freePort } from '../support/free-port.js'
import { breakStore } from '../support/load/races-http/broken-store.js'
import { newScore, tally } from '../support/load/races-http/race.js'
import { withFactors } from '../support/server/passkey-server.js'
import { prepareRestarts } from '../support/server/reloading.js'
import {
  addPasskey,
  openSignIn,
  optionsOf,
  passPassword,
  recoveryCodesIn,
  sendCode,
  sendPasskey,
  setUpApp,
  visitAs,
  type Answered,
} from '../support/server/second-factor-visits.js'
import { addPeople } from '../support/server/password-form.js'
import { person, type TestServerOptions } from '../support/server/server.js'
import { inBothRoles } from '../support/stores/failing-store.js'
import { breakBackend } from '../support/stores/races/broken-backend.js'

// One code, one challenge, two replicas of the product on one store, both asked at once over HTTP: SIGNET_RACE_ROUNDS rounds,
// and a fifth of them where each needs two passwords.

const rounds = Number(process.env['SIGNET_RACE_ROUNDS'] ?? 20)
const withPasswords = Math.ceil(rounds / 5)
const timeout = 120_000 + rounds * 200

const bob = { username: 'bob', password: 'a password of Bob alone', sub: 'bob-1' }

/** Who loses a race leaves a sign-in open, and all of them come from one address. */
const configure = (written: Record<string, unknown>) => ({
  ...withFactors(written),
  rate_limits: {
    authorize: { address_per_minute: 1_000_000, address_open: 300 + 3 * rounds },
    interaction: { address_per_minute: 1_000_000 },
  },
})

/** Two replicas; a person with an app and another with a passkey. */
const openReplicas = (options: TestServerOptions = {}) => {
  const keep = disposeAfterAll()
  const opened = { here: '', there: '', now: Date.now(), app: { secret: '', csrf: '', codes: [] as readonly string[] } }
  const authenticator = { of: undefined as unknown as SoftwareAuthenticator }
  let visitor: Awaited<ReturnType<typeof visitAs>>
  beforeAll(async () => {
    const deployment = keep(await prepareRestarts({ configure, clock: () => opened.now, ...options }))
    const server = keep(await deployment.start())
    await addPeople(server.directory, bob)
    const port = await freePort()
    await deployment.edit((written) => ({ ...written, listen: { host: '127.0.0.1', port } }))
    keep(await deployment.start())
    Object.assign(opened, { here: server.issuer, there: `http://127.0.0.1:${port}` })
    visitor = await visitAs(server.issuer, person)
    opened.app = await setUpApp(visitor, (secret) => showPassword(secret, opened.now))
    authenticator.of = new SoftwareAuthenticator(server.issuer)
    authenticator.of.counter = 1
    await addPasskey(await visitAs(server.issuer, bob), authenticator.of)
  })

  const race = async (count: number, round: () => Promise<readonly Answered[]>) => {
    const score = newScore(count)
    for (let index = 0; index < count; index++) {
      const answers = (await round()).map(({ status }) => ({ status: status === 303 ? 200 : status }))
      tally(score, answers, ({ status }) => status === 403)
    }
    return score
  }
  /** The same code on the pages of two browsers, at both replicas. */
  const sendBoth = async (code: () => string | Promise<string>) => {
    const pages = [await passPassword(opened.here, person), await passPassword(opened.here, person)]
    const typed = await code()
    return Promise.all(pages.map((page, index) => sendCode(page, typed, index === 0 ? opened.here : opened.there)))
  }
  const nextRecoveryCode = async (): Promise<string> => {
    const [code, ...left] = opened.app.codes
    opened.app = { ...opened.app, codes: left }
    if (code !== undefined) return code
    const { html } = await visitor.post('totp', { csrf: opened.app.csrf, action: 'renew' })
    opened.app = { ...opened.app, codes: recoveryCodesIn(html) }
    return nextRecoveryCode()
  }

  return {
    raceRecoveryCodes: (count: number) => race(count, () => sendBoth(nextRecoveryCode)),
    raceCodes: (count: number) =>
      race(count, () => {
        opened.now += 30_000
        return sendBoth(() => showPassword(opened.app.secret, opened.now))
      }),
    raceChallenges: (count: number) =>
      race(count, async () => {
        const page = await openSignIn(opened.here)
        const signed = authenticator.of.signIn(optionsOf(page))
        return Promise.all([sendPasskey(page, signed), sendPasskey(page, signed, opened.there)])
      }),
    raceCounters: (count: number) =>
      race(count, async () => {
        const pages = [await openSignIn(opened.here), await openSignIn(opened.here)]
        const counter = ++authenticator.of.counter
        const signed = pages.map((page) => authenticator.of.signIn(optionsOf(page), { counter }))
        authenticator.of.counter = counter
        const [one, other] = pages
        return Promise.all([sendPasskey(one!, signed[0] ?? ''), sendPasskey(other!, signed[1] ?? '', opened.there)])
      }),
  }
}

const fair = (count: number) => ({ rounds: count, fair: count, doubles: 0, withoutWinner: 0, faults: 0 })

describe('second factors and passkeys at two replicas at once', () => {
  const replicas = openReplicas()

  it(
    `SI72 ${withPasswords} recovery codes: one sign-in each`,
    async () => expect(await replicas.raceRecoveryCodes(withPasswords)).toEqual(fair(withPasswords)),
    timeout,
  )
  it(
    `SI72 ${withPasswords} one-time passwords: one sign-in each`,
    async () => expect(await replicas.raceCodes(withPasswords)).toEqual(fair(withPasswords)),
    timeout,
  )
  it(
    `SI73 ${rounds} challenges of passkeys: one sign-in each`,
    async () => expect(await replicas.raceChallenges(rounds)).toEqual(fair(rounds)),
    timeout,
  )
  it(
    `SI73 ${rounds} counters of a passkey and its copy: one sign-in each`,
    async () => expect(await replicas.raceCounters(rounds)).toEqual(fair(rounds)),
    timeout,
  )
})

/** Lets callers go on two by two. */
const meet = () => {
  let waiting: (() => void) | undefined
  return () =>
    new Promise<void>((resolve) => {
      waiting?.()
      if (waiting) resolve()
      waiting = waiting ? undefined : resolve
    })
}

/** A double of a store that looks first and saves afterwards, when another has looked, too. */
const breakFactors = () => {
  const [redeeming, updating] = [meet(), meet()]
  return (sound: StorageBackend): StorageBackend => {
    const lookFirst = (met: () => Promise<void>): StorageBackend => ({
      ...sound,
      records: <T>(name: string) => {
        const records = sound.records<T>(name)
        const find = async (id: string) => {
          const found = await records.find(id)
          await met()
          return found
        }
        return { ...records, find }
      },
    })
    const update = breakBackend(lookFirst(updating)).records('person_factors').update
    return {
      ...sound,
      oneTime: (name) =>
        name === 'sign_in_attempts' ? breakStore(lookFirst(redeeming)).oneTime(name) : sound.oneTime(name),
      records: (name) => ({
        ...sound.records(name),
        ...(name === 'person_factors' && { update: update as never }),
      }),
    }
  }
}

describe('the same races on a store without the atomic predicate', () => {
  const few = 2
  const replicas = openReplicas({ doubles: { stores: inBothRoles(breakFactors()) } })

  it('find recovery codes, one-time passwords, challenges and counters that passed twice', async () => {
    const found = { fair: 0, doubles: few }
    expect(await replicas.raceRecoveryCodes(few)).toMatchObject(found)
    expect(await replicas.raceCodes(few)).toMatchObject(found)
    expect(await replicas.raceChallenges(few)).toMatchObject(found)
    expect(await replicas.raceCounters(few)).toMatchObject(found)
  })
})
