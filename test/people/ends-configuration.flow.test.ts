import { beforeAll, describe, expect, it } from 'vitest'
import { disposeAfterAll } from '../support/dispose-after-all.js'
import { freePort } from '../support/free-port.js'
import { alive, openAll, over, redeemLeft, stateOf, withEverything } from '../support/server/opened.js'
import { person } from '../support/server/server.js'
import { key, prepareRestarts, type Json, type ReloadServer } from '../support/server/reloading.js'

type Account = { readonly username: string; readonly password: string; readonly sub: string }

const bob: Account = { username: 'bob', password: 'the first password', sub: 'bob-1' }

/** The file with this account in the place of the one that bob had, or without it. */
const withBob =
  (account?: Account) =>
  (written: Json): Json => {
    const others = (written['accounts'] as Account[]).filter(({ sub }) => sub !== bob.sub)
    return { ...written, accounts: account === undefined ? others : [...others, account] }
  }

const withPassword = (password: string): Account => ({ ...bob, password })
const expectRefused = (issuer: string, account: Account) =>
  expect(openAll(issuer, account)).rejects.toThrow('the pages do not end')

describe('a password of the configuration that changes', () => {
  const keep = disposeAfterAll()
  let deployment: Awaited<ReturnType<typeof prepareRestarts>>
  let server: ReloadServer

  beforeAll(async () => {
    deployment = keep(await prepareRestarts({ configure: (written) => withBob(bob)(withEverything(written)) }))
    server = await deployment.start()
    keep({ [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() })
  })

  const ended = async (): Promise<readonly unknown[]> => {
    const lines = (await server.audit()).filter(({ event }) => event === 'subject.ended')
    return lines.map(({ sub, reason }) => `${String(sub)}: ${String(reason)}`)
  }
  const reload = async (account?: Account) => {
    await deployment.edit(withBob(account))
    expect((await server.reload()).body).toMatchObject({ status: 'reloaded' })
  }
  const restart = async () => {
    await server[Symbol.asyncDispose]()
    server = await deployment.start()
  }

  it('SE06 ends with a reload what the old one had opened, and nothing of others', async () => {
    const opened = await openAll(server.issuer, bob)
    const other = await openAll(server.issuer, person)
    expect(await stateOf(server.issuer, opened)).toEqual(alive)
    await reload(withPassword('the second password'))
    expect(await stateOf(server.issuer, opened)).toEqual(over)
    expect(await redeemLeft(server.issuer, opened)).toEqual(['invalid_grant', 'invalid_grant'])
    expect(await stateOf(server.issuer, other)).toEqual(alive)
    await expectRefused(server.issuer, bob)
    const again = await openAll(server.issuer, withPassword('the second password'))
    expect(await stateOf(server.issuer, again)).toEqual(alive)
    expect(await ended()).toEqual(['bob-1: the configuration has another password'])
  })

  it('SE07 ends with a restart, and a restart or a reload with the same one ends nothing', async () => {
    const opened = await openAll(server.issuer, withPassword('the second password'))
    await restart()
    await deployment.edit((written) => ({ ...written, clients: [...(written['clients'] as object[])].reverse() }))
    await server.reload()
    expect(await stateOf(server.issuer, opened)).toEqual(alive)
    await deployment.edit(withBob(withPassword('the third password')))
    await restart()
    expect(await stateOf(server.issuer, opened)).toEqual(over)
    expect(await redeemLeft(server.issuer, opened)).toEqual(['invalid_grant', 'invalid_grant'])
    expect(await ended()).toHaveLength(2)
  })

  it('SE08 an account that leaves the configuration and comes back finds nothing of before', async () => {
    const account = withPassword('the third password')
    const opened = await openAll(server.issuer, account)
    await reload()
    expect((await ended()).at(-1)).toBe('bob-1: the account has left the configuration')
    await restart()
    expect(await ended()).toHaveLength(3)
    await reload(account)
    expect(await stateOf(server.issuer, opened)).toEqual(over)
    expect(await redeemLeft(server.issuer, opened)).toEqual(['invalid_grant', 'invalid_grant'])
    expect(await stateOf(server.issuer, await openAll(server.issuer, account))).toEqual(alive)
  })

  it('SE06 a reload that is refused ends nothing, and the old password stays', async () => {
    const account = withPassword('the third password')
    const opened = await openAll(server.issuer, account)
    await deployment.edit((written) => ({
      ...withBob(withPassword('the fourth password'))(written),
      keys: [key('other')],
    }))
    expect((await server.reload()).body).toMatchObject({ status: 'refused' })
    expect(await stateOf(server.issuer, opened)).toEqual(alive)
    expect(await stateOf(server.issuer, await openAll(server.issuer, account))).toEqual(alive)
  })
})

it('SE09 replicas that reload one after another end it once, and none takes the old password meanwhile', async () => {
  await using deployment = await prepareRestarts({ configure: (written) => withBob(bob)(withEverything(written)) })
  const port = { here: await freePort(), there: await freePort() }
  const issuer = `http://127.0.0.1:${port.here}`
  const there = `http://127.0.0.1:${port.there}`
  const edit = (where: keyof typeof port, account?: Account) =>
    deployment.edit((written) => ({
      ...withBob(account)(written),
      issuer,
      listen: { host: '127.0.0.1', port: port[where] },
    }))
  await edit('there', bob)
  await using behind = await deployment.start()
  await edit('here', bob)
  await using ahead = await deployment.start()
  const opened = await openAll(issuer, bob)

  // The pages are those of the replica that has not reloaded.
  await edit('there', withPassword('the second password'))
  await behind.reload()
  expect(await stateOf(issuer, opened)).toEqual(over)
  await expectRefused(issuer, bob)
  const again = await openAll(issuer, withPassword('the second password'))
  await edit('here', withPassword('the second password'))
  expect((await ahead.reload()).body).toMatchObject({ status: 'reloaded' })
  expect(await stateOf(there, again)).toEqual(alive)
  expect(await stateOf(issuer, again)).toEqual(alive)

  await edit('there')
  await behind.reload()
  expect(await stateOf(issuer, again)).toEqual(over)
  await expectRefused(issuer, withPassword('the second password'))
})
