import { createHash } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { basic } from '../support/clients/clients.js'
import { openLogoutReceiver } from '../support/clients/logout-receiver.js'
import { UserAgent } from '../support/clients/user-agent.js'
import { disposeAfterAll } from '../support/dispose-after-all.js'
import { authorizeUrl, verifier } from '../support/forge/mint.js'
import { freePort } from '../support/free-port.js'
import { visitAccount } from '../support/server/account-visitor.js'
import { askSilently } from '../support/server/opened.js'
import { prepareRestarts, type ReloadServer } from '../support/server/reloading.js'
import { person, redirectUri, subject, webClient } from '../support/server/server.js'

type Receiver = Awaited<ReturnType<typeof openLogoutReceiver>>
type Tokens = Record<'access_token' | 'id_token', string>

describe('/account at two replicas', () => {
  const keep = disposeAfterAll()
  let server: ReloadServer
  let receiver: Receiver
  /** Where the second replica answers. */
  let there: string
  beforeAll(async () => {
    receiver = await openLogoutReceiver(keep)
    const web = { ...webClient, consent: 'implicit', backchannel_logout_uri: receiver.uri }
    const deployment = keep(
      await prepareRestarts({
        configure: (written) => ({ ...written, outbound: { allow_private_addresses: true }, clients: [web] }),
      }),
    )
    server = keep(await deployment.start())
    const port = await freePort()
    there = `http://127.0.0.1:${port}`
    await deployment.edit((written) => ({ ...written, listen: { host: '127.0.0.1', port } }))
    keep(await deployment.start())
  })

  const post = async (at: string, path: string, form: Record<string, string>) => {
    const headers = { authorization: basic(webClient) }
    const response = await fetch(at + path, { method: 'POST', headers, body: new URLSearchParams(form) })
    return (await response.json()) as Record<string, unknown>
  }
  const signIn = async () => {
    const agent = new UserAgent()
    const left = await agent.authorize(authorizeUrl(server.issuer), person)
    const code = left.searchParams.get('code') ?? ''
    const form = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier }
    return { agent, tokens: (await post(server.issuer, '/token', form)) as Tokens }
  }
  const heard = (sid: unknown) => receiver.claims().filter((claims) => claims['sid'] === sid)

  it('AC13 all sessions that a person ends at one are over at the other at once, and the client hears', async () => {
    const [first, second] = [await signIn(), await signIn()]
    const here = visitAccount(server.issuer)
    await here.signIn(person)
    expect(await askSilently(there, first.agent)).toBe('code')
    await here.send('sessions', { action: 'end_others' })
    for (const { agent, tokens } of [first, second])
      for (const at of [there, server.issuer]) {
        expect(await askSilently(at, agent)).toBe('login_required')
        expect(await post(at, '/introspect', { token: tokens.access_token })).toEqual({ active: false })
      }
    expect(await askSilently(there, here.agent)).toBe('code')
    for (const { tokens } of [first, second]) {
      const { sid } = JSON.parse(Buffer.from(tokens.id_token.split('.')[1] ?? '', 'base64url').toString()) as {
        sid: string
      }
      await expect.poll(() => heard(sid)).toMatchObject([{ sub: subject, sid }])
    }
    const token = receiver.tokens().at(-1)
    expect(await receiver.verify(token, server.issuer, 'web')).toMatchObject({ sub: subject })
    expect(new Set(receiver.tokens().map((one) => createHash('sha256').update(one).digest('hex'))).size).toBe(2)
  })

  it('AC13 either replica ends the sessions', async () => {
    const opened = await signIn()
    const here = visitAccount(server.issuer)
    await here.signIn(person)
    await visitAccount(there, here.agent).send('sessions', { action: 'end_others' })
    expect(await askSilently(server.issuer, opened.agent)).toBe('login_required')
    expect((await visitAccount(server.issuer, opened.agent).page()).html).toContain('id="login-submit"')
  })
})
