import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { collectionsOf } from '../support/forge/mint.js'
import { openLogoutReceiver } from '../support/clients/logout-receiver.js'
import { disposeAfterAll } from '../support/dispose-after-all.js'
import { basic } from '../support/clients/clients.js'
import { createClient, createDeployment } from '../support/server/processes.js'
import { noAnswers } from '../support/server/site.js'
import { serviceClient, subject, webClient } from '../support/server/server.js'
import { createFakeClock } from '../support/fake-clock.js'
import { describeWith } from '../support/services/describe-with.js'
import { openTestRecords } from '../support/stores/test-stores.js'
import { createOutbox } from '../../core/oauth/back-channel/outbox.js'

// SIGNET_LOGOUTS sessions end at once; every fourth is of a client that hangs. Tokens are asked for before and meanwhile.
// The clock of the service skips the pauses between attempts.

const logouts = Number(process.env['SIGNET_LOGOUTS'] ?? 40)

describeWith('faketime', `${logouts} sessions that end at once`, (library) => {
  const keep = disposeAfterAll()

  it('are sent to clients that respond, and abandoned for clients that hang', async () => {
    const [sound, hanging] = [await openLogoutReceiver(keep), await openLogoutReceiver(keep, noAnswers['hangs'])]
    const deployment = keep(
      await createDeployment((written) => ({
        ...written,
        outbound: { allow_private_addresses: true },
        clients: [
          serviceClient,
          { ...webClient, backchannel_logout_uri: sound.uri },
          { ...webClient, client_id: 'hanging', backchannel_logout_uri: hanging.uri },
        ],
      })),
    )
    const store = keep(await openTestRecords(join(deployment.directory, 'store'), Date.now))
    const { logoutDeliveries: records, logoutClaims: claims } = collectionsOf(store)
    const clock = createFakeClock(library, deployment.directory)
    let ahead = 0
    const outbox = createOutbox({ kind: 'logout_token', records, claims, clock: () => Date.now() + ahead * 1000 })
    /** An attempt under way is still due, so nothing is skipped but a pause. Returns whether there is a delivery. */
    const skipPause = async (): Promise<boolean> => {
      if ((await outbox.due(undefined, 1)).length === 0) clock.set((ahead += 5))
      return (await records.list(undefined, 1)).length > 0
    }
    const noticeOf = (index: number) => {
      const [clientId, { uri }] = index % 4 === 3 ? (['hanging', hanging] as const) : (['web', sound] as const)
      return { clientId, subject, sid: randomUUID(), host: new URL(uri).host }
    }
    const notices = Array.from({ length: logouts }, (_, index) => noticeOf(index))
    const { origin } = await deployment.start(undefined, clock.env)
    const client = createClient()
    keep({ [Symbol.asyncDispose]: async () => client.close() })
    /** Milliseconds that tokens took, one after another with a pause, for as long as `goesOn`. */
    const ask = async (goesOn: (asked: number) => boolean): Promise<string> => {
      const took: number[] = []
      while (goesOn(took.length)) {
        const start = performance.now()
        const form = { grant_type: 'client_credentials', scope: 'read' }
        const { status } = await client.post(`${origin}/token`, form, { authorization: basic(serviceClient) })
        expect(status).toBe(200)
        took.push(performance.now() - start)
        await setTimeout(10)
      }
      took.sort((a, b) => a - b)
      const at = (part: number) => `${(took[Math.floor(took.length * part)] ?? NaN).toFixed(1)} ms`
      return `p50 ${at(0.5)}, p99 ${at(0.99)} of ${String(took.length)}`
    }
    const asks = Math.min(500, logouts / 10)
    await ask((asked) => asked < asks)
    const before = await ask((asked) => asked < asks)
    const begun = performance.now()
    for (let from = 0; from < logouts; from += 500) await outbox.add(notices.slice(from, from + 500))

    const expected = notices.filter(({ clientId }) => clientId === 'web').map(({ sid }) => sid)
    const isOver = () => sound.site.asked.length >= expected.length
    const meanwhile = ask(() => !isOver())
    await expect.poll(() => sound.site.asked.length, { timeout: 300_000 }).toBeGreaterThanOrEqual(expected.length)
    const between = await meanwhile
    const delivered = performance.now() - begun
    await expect.poll(skipPause, { timeout: 300_000 }).toBe(false)
    const all = performance.now() - begun
    console.log(`/token before: ${before}; meanwhile: ${between}; afterwards: ${await ask((asked) => asked < asks)}`)
    console.log(`${expected.length} delivered in ${Math.round(delivered)} ms, all over in ${Math.round(all)} ms`)
    expect(
      sound
        .claims()
        .map(({ sid }) => sid)
        .toSorted(),
    ).toEqual(expected.toSorted())
    const given = (await deployment.audit()).filter(({ event }) => event === 'logout.undelivered')
    expect(given).toHaveLength(logouts - expected.length)
  }, 700_000)
})
