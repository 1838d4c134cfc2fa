import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { collectionsOf } from '../support/forge/mint.js'
import { openLogoutReceiver } from '../support/clients/logout-receiver.js'
import { disposeAfterAll } from '../support/dispose-after-all.js'
import { createDeployment } from '../support/server/processes.js'
import { noAnswers } from '../support/server/site.js'
import { subject, webClient } from '../support/server/server.js'
import { openTestRecords } from '../support/stores/test-stores.js'
import { createLogoutOutbox } from '../../core/oauth/back-channel/outbox.js'

// SIGNET_LOGOUTS sessions end at once; every fourth is of a client that hangs.

const logouts = Number(process.env['SIGNET_LOGOUTS'] ?? 400)

describe(`${logouts} sessions that end at once`, () => {
  const keep = disposeAfterAll()

  it('are told of to whoever listens, and given up for who hangs', async () => {
    const [sound, hanging] = [await openLogoutReceiver(keep), await openLogoutReceiver(keep, noAnswers['hangs'])]
    const deployment = keep(
      await createDeployment((written) => ({
        ...written,
        outbound: { allow_private_addresses: true },
        clients: [
          { ...webClient, backchannel_logout_uri: sound.uri },
          { ...webClient, client_id: 'hanging', backchannel_logout_uri: hanging.uri },
        ],
      })),
    )
    const store = keep(await openTestRecords(join(deployment.directory, 'store'), Date.now))
    const { logoutDeliveries: records, logoutClaims: claims } = collectionsOf(store)
    const outbox = createLogoutOutbox({ records, claims, clock: Date.now })
    const noticeOf = (index: number) => {
      const [clientId, { uri }] = index % 4 === 3 ? (['hanging', hanging] as const) : (['web', sound] as const)
      return { clientId, subject, sid: randomUUID(), host: new URL(uri).host }
    }
    const notices = Array.from({ length: logouts }, (_, index) => noticeOf(index))
    await deployment.start()
    const begun = performance.now()
    for (let from = 0; from < logouts; from += 500) await outbox.add(notices.slice(from, from + 500))

    const expected = notices.filter(({ clientId }) => clientId === 'web').map(({ sid }) => sid)
    await expect.poll(() => sound.site.asked.length, { timeout: 300_000 }).toBeGreaterThanOrEqual(expected.length)
    const delivered = performance.now() - begun
    await expect.poll(async () => (await records.list(undefined, 1)).length, { timeout: 300_000 }).toBe(0)
    const all = performance.now() - begun
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
