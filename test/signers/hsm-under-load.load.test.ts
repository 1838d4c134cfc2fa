import { afterEach, expect, it } from 'vitest'
import { basic } from '../support/clients/clients.js'
import { startTokenServer, type Answer, type TokenServer } from '../support/server/token-server.js'
import { auditServer, unfinished } from '../support/load/ledger/audit-books.js'
import { Ledger } from '../support/load/ledger/ledger.js'
import { serviceClient } from '../support/server/server.js'
import { describeWith } from '../support/services/describe-with.js'
import { makeToken, openProvider, type SoftToken } from '../support/signers/softhsm/token.js'
import { newJournal, type Journal } from '../support/signers/softhsm/watched.js'

/** Requests that are under way at one time. */
const width = 16
/** Milliseconds in which the service must be back by itself. */
const backWithin = 10_000
/** Requests that meet an absent token; the outage lasts as long as they take. */
const refusals = Number(process.env['SIGNET_REFUSALS'] ?? 100)

describeWith('softhsm2', 'keys in SoftHSM, under load', () => {
  const opened: AsyncDisposable[] = []
  afterEach(async () => {
    for (const each of opened.splice(0).reverse()) await each[Symbol.asyncDispose]()
  })

  const start = async () => {
    const token = await makeToken()
    opened.push(token)
    const provider = await openProvider(token)
    await provider.create?.('tokens', 'ES256', AbortSignal.timeout(10_000))
    await provider[Symbol.asyncDispose]()
    const journal = newJournal()
    const options = { module: token.module, token: token.label, pin: token.pin, environment: token.environment }
    const host = await startTokenServer({
      log: journal,
      configure: (written) => ({
        ...written,
        signers: { hsm: { use: 'signers/pkcs11', options } },
        keys: [{ kid: 'hsm', alg: 'ES256', signer: 'hsm', ref: 'pkcs11:object=tokens' }],
      }),
    })
    opened.push(host)
    return { token, journal, host, books: new Ledger() }
  }

  /**
   * Honest clients who come again with their code after a 503, and machines, all the while until `over` says so and
   * everybody has been served.
   */
  const load = async (host: TokenServer, books: Ledger, over: () => boolean): Promise<void> => {
    const machine = (): Promise<Answer> => {
      const form = { grant_type: 'client_credentials', scope: 'read' }
      return books.ask({ honest: true }, () => host.token(form, { authorization: basic(serviceClient) }))
    }
    const person = async (): Promise<void> => {
      const { code } = await host.mint.code()
      const redeem = () => books.ask({ once: code, honest: true }, () => host.redeem(code))
      while ((await redeem()).status !== 200) await machine()
    }
    const one = async (): Promise<void> => {
      while (!over()) {
        await person()
        await machine()
      }
    }
    await Promise.all(Array.from({ length: width }, one))
  }

  const balance = async (host: TokenServer, books: Ledger): Promise<void> => {
    expect(await auditServer(books, host.server)).toEqual([])
    expect(unfinished(books)).toEqual([])
    expect(books.count(200) + books.count(503)).toBe(books.entries.length)
  }

  const served = (books: Ledger, more: number) => {
    const from = books.count(200)
    return expect.poll(() => books.count(200) - from, { timeout: backWithin, interval: 20 }).toBeGreaterThan(more)
  }

  const disturb = async (fault: (parts: { token: SoftToken; journal: Journal; books: Ledger }) => Promise<void>) => {
    const { token, journal, host, books } = await start()
    let over = false
    const loading = load(host, books, () => over)
    try {
      await served(books, 200)
      await fault({ token, journal, books })
      await served(books, 200)
    } finally {
      over = true
      await loading
    }
    await balance(host, books)
  }

  it('kill -9 of the child: 503 only, nothing burnt, back by itself', async () => {
    await disturb(async ({ journal }) => {
      for (let kills = 1; kills <= 3; kills++) {
        const pid = journal.pids.at(-1) ?? 0
        expect(pid).toBeGreaterThan(0)
        process.kill(pid, 'SIGKILL')
        await expect.poll(() => journal.pids.at(-1), { timeout: backWithin, interval: 20 }).not.toBe(pid)
      }
    })
  }, 120_000)

  it('the token taken away and put back: 503 meanwhile, nothing burnt, back by itself', async () => {
    await disturb(async ({ token, books }) => {
      await token.remove()
      const before = books.count(503)
      await expect.poll(() => books.count(503) - before, { timeout: 100_000, interval: 20 }).toBeGreaterThan(refusals)
      await token.putBack()
    })
  }, 120_000)
})
