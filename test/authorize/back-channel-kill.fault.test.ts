import { join } from 'node:path'
import { expect, it } from 'vitest'
import { collectionsOf } from '../support/forge/mint.js'
import { openLogoutReceiver, ok } from '../support/clients/logout-receiver.js'
import { disposeAfterAll } from '../support/dispose-after-all.js'
import { createDeployment } from '../support/server/processes.js'
import { noAnswers } from '../support/server/site.js'
import { subject, webClient } from '../support/server/server.js'
import { createFakeClock } from '../support/fake-clock.js'
import { describeWith } from '../support/services/describe-with.js'
import { openTestRecords } from '../support/stores/test-stores.js'
import { createOutbox } from '../../core/oauth/back-channel/outbox.js'

describeWith('faketime', 'back-channel logout of a sender that is killed', (library) => {
  const keep = disposeAfterAll()

  it('LO14 a logout token of a killed process is delivered by the next one, with the jti of the first attempt', async () => {
    const receiver = await openLogoutReceiver(keep, noAnswers['hangs'])
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
    await outbox.add([{ clientId: 'web', subject, sid: 'one', host: new URL(receiver.uri).host }])

    const first = await deployment.start()
    await expect.poll(receiver.tokens).toHaveLength(1)
    await first.stop('SIGKILL')
    receiver.site.answer = ok
    const clock = createFakeClock(library, deployment.directory)
    await deployment.start(undefined, clock.env)
    // The attempt of the first belongs to it for 15 seconds.
    clock.set(15)
    await expect.poll(receiver.tokens, { timeout: 40_000 }).toHaveLength(2)
    await expect.poll(async () => (await records.list(undefined, 1)).length).toBe(0)
    expect(new Set(receiver.claims().map(({ jti }) => jti)).size).toBe(1)
  })
})
