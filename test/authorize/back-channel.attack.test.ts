import { describe, expect, it } from 'vitest'
import { openLogoutReceiver } from '../support/clients/logout-receiver.js'
import { UserAgent } from '../support/clients/user-agent.js'
import { disposeAfterAll } from '../support/dispose-after-all.js'
import { authorizeUrl } from '../support/forge/mint.js'
import { person, startServer, webClient } from '../support/server/server.js'
import { noAnswers } from '../support/server/site.js'
import { parseClientMetadata } from '../../core/oauth/clients/client-metadata.js'

describe('the endpoint of a client for logout tokens', () => {
  const keep = disposeAfterAll()

  it.each([
    ['http://client.example/logout', /must be https/],
    ['https://client.example/logout#now', /no fragment/],
    ['https://user:secret@client.example/logout', /no[t]? carry credentials|credentials/],
    ['//client.example/logout', /absolute/],
    ['javascript:alert(1)', /must be https/],
    [`https://client.example/${'x'.repeat(2048)}`, /at most 2048/],
    [17, /must be a string/],
  ])('LO12 may not be %s', (uri, message) => {
    const { problems } = parseClientMetadata({ ...webClient, backchannel_logout_uri: uri }, ['openid'])
    expect(problems).toEqual([{ path: 'backchannel_logout_uri', message: expect.stringMatching(message) as string }])
  })

  it('LO11 is not called at a private address, and a redirect is not followed', async () => {
    const time = { ahead: 0 }
    const redirecting = await openLogoutReceiver(keep, noAnswers['redirects'])
    const clientOf = (client_id: string, uri: string) => ({
      ...{ ...webClient, consent: 'implicit', client_id, backchannel_logout_uri: uri },
    })
    const start = async (outbound: object, client: object) =>
      keep(
        await startServer({
          clock: () => Date.now() + time.ahead,
          configure: (written) => ({ ...written, outbound, clients: [client] }),
        }),
      )
    const guarded = await start({}, clientOf('private', 'http://127.0.0.1:9/logout'))
    const open = await start({ allow_private_addresses: true }, clientOf('redirecting', redirecting.uri))
    for (const [server, client_id, reason] of [
      [guarded, 'private', /address is private/],
      [open, 'redirecting', /status 307/],
    ] as const) {
      const agent = new UserAgent()
      await agent.authorize(authorizeUrl(server.issuer, { client_id }), person)
      const at = await agent.follow(`${server.issuer}/logout`)
      await agent.submit(at.url, await at.response.text(), {})
      // Each look ahead brings the next attempt.
      const undelivered = async () => {
        time.ahead += 20_000
        return (await server.audit()).filter(({ event }) => event === 'logout.undelivered')
      }
      await expect
        .poll(undelivered, { interval: 300, timeout: 20_000 })
        .toEqual([expect.objectContaining({ client_id, reason: expect.stringMatching(reason) as string })])
    }
    expect(redirecting.site.asked.map(({ path }) => path)).toEqual(['/logout', '/logout', '/logout'])
  })
})
