import { randomUUID } from 'node:crypto'
import type { RequestListener, ServerResponse } from 'node:http'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { collectionsOf } from '../support/forge/mint.js'
import { openLogoutReceiver } from '../support/clients/logout-receiver.js'
import { disposeAfterAll } from '../support/dispose-after-all.js'
import { createDeployment } from '../support/server/processes.js'
import { subject, webClient } from '../support/server/server.js'
import { openTestRecords } from '../support/stores/test-stores.js'
import { createOutbox } from '../../core/oauth/back-channel/outbox.js'

// What a command leaves in the outbox, several processes of the product deliver.

/** What three replicas have at work for one host at a time. */
const many = 12

/** Answers nobody before all have asked. */
const answerTogether = (): RequestListener => {
  const held: ServerResponse[] = []
  return (_request, response) => {
    held.push(response)
    if (held.length >= many) held.splice(0).forEach((one) => one.end())
  }
}

describe('back-channel logout of several replicas', () => {
  const keep = disposeAfterAll()

  it('LO13 delivers each token once, whichever process picks it up', async () => {
    const receiver = await openLogoutReceiver(keep, answerTogether())
    const deployment = keep(
      await createDeployment((written) => ({
        ...written,
        outbound: { allow_private_addresses: true },
        clients: [{ ...webClient, backchannel_logout_uri: receiver.uri }],
      })),
    )
    const store = keep(await openTestRecords(join(deployment.directory, 'store'), Date.now))
    const { logoutDeliveries: records, logoutClaims: claims } = collectionsOf(store)
    const outbox = createOutbox({ kind: 'logout_token', records, claims, clock: Date.now })
    const sids = Array.from({ length: many }, () => randomUUID())
    const { host } = new URL(receiver.uri)
    const replicas = [await deployment.start(), await deployment.start(), await deployment.start()]
    await outbox.add(sids.map((sid) => ({ clientId: 'web', subject, sid, host })))
    await expect.poll(async () => (await records.list(undefined, 1)).length, { timeout: 30_000 }).toBe(0)
    for (const replica of replicas) await replica.stop('SIGTERM')
    const told = receiver.claims().map(({ sid }) => sid)
    expect(told.toSorted()).toEqual(sids.toSorted())
    const lines = (await deployment.audit()).filter(({ event }) => event === 'logout.delivered')
    expect(lines).toHaveLength(many)
  })
})
