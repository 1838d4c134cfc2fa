import type { disposeAfterAll } from '../dispose-after-all.js'
import { openLogoutReceiver } from '../clients/logout-receiver.js'
import type { UserAgent } from '../clients/user-agent.js'
import { freePort } from '../free-port.js'
import { prepareRestarts, type ReloadServer } from './reloading.js'
import { person, startServer, webClient } from './server.js'
import { startUpstream, type UpstreamProvider } from './upstream-provider.js'

/** Who signs in there, or refuses to. */
type Who = 'alice' | 'bob' | 'nobody'

/** A place where people sign in, and what a person does there. */
export interface Upstream {
  /** Of the sign-in method. */
  readonly id: string
  readonly issuer: string
  /** Whether the person had to sign in there, and where the browser goes then. */
  visit(at: URL, agent: UserAgent, who?: Who): Promise<{ readonly asked: boolean; back: URL }>
  /** Signs the person out there, in whose browser that is. */
  signOut(agent: UserAgent): Promise<void>
}

export const known = { name: 'Alice Adams', email: 'alice@bank.example' }
const alice = { sub: 'upstream-alice', claims: known, acr: 'urn:corp:1', amr: ['pwd'] }

const leave = async (agent: UserAgent, url: URL | string) => {
  const { left, response } = await agent.follow(url)
  if (left === undefined) throw new Error(`the browser stays, with status ${String(response.status)}`)
  return left
}

const atProvider = (id: string, provider: UpstreamProvider): Upstream => ({
  id,
  issuer: provider.issuer,
  async visit(at, agent, who = 'alice') {
    provider.person = who === 'nobody' ? undefined : { ...alice, sub: `upstream-${who}` }
    const asked = () => provider.asked.filter((one) => one.startsWith('GET /sign-in/')).length
    const before = asked()
    const back = await leave(agent, at)
    return { asked: asked() > before, back }
  },
  signOut: () => provider.signOut('signet', alice.sub),
})

export const atSignet = (id: string, issuer: string): Upstream => ({
  id,
  issuer,
  async visit(at, agent, who = 'alice') {
    const { left, url, response } = await agent.follow(at)
    if (left !== undefined) return { asked: false, back: left }
    const fields = who === 'nobody' ? { decision: 'cancel' } : { ...person, username: who }
    const { left: back } = await agent.submit(url, await response.text(), fields)
    if (back === undefined) throw new Error('the browser stays')
    return { asked: true, back }
  },
  async signOut(agent) {
    const { url, response } = await agent.follow(`${issuer}/logout`)
    await agent.submit(url, await response.text(), {})
  },
})

/** How Signet is registered at both: with a key, and an address for logout tokens. */
const registration = (issuer: string, id: string) => ({
  client_id: 'signet',
  token_endpoint_auth_method: 'private_key_jwt' as const,
  jwks_uri: `${issuer}/jwks.json`,
  redirect_uris: [`${issuer}/sign-in/${id}/callback`],
  backchannel_logout_uri: `${issuer}/sign-in/${id}/backchannel-logout`,
  backchannel_logout_session_required: true,
})

export const upstreamPlugin = (id: string, issuer: string) => ({
  use: 'plugins/login/oidc',
  options: {
    ...{ id, issuer, client_id: 'signet', token_endpoint_auth_method: 'private_key_jwt' },
    ...{ scope: 'openid profile email', claims: { name: 'name', email: 'email' }, userinfo: true },
    ...{ acr: { '2': 'urn:corp:1' }, amr: { pwd: 'pwd', hwk: 'hwk' } },
  },
})

/** Another Signet, with people of its own, at which the first one is a client. */
export const startSignetUpstream = (issuer: string, id: string) =>
  startServer({
    configure: (written) => ({
      ...written,
      outbound: { allow_private_addresses: true },
      acr_values_supported: [{ acr: 'urn:corp:1', methods: ['pwd'] }],
      clients: [{ ...registration(issuer, id), consent: 'implicit' }],
      accounts: [...(written['accounts'] as object[]), { ...person, username: 'bob', sub: 'bob-there' }],
    }),
  })

/**
 * Two replicas of Signet, where people sign in at oidc-provider (`corp`) or at another Signet (`bank`), or with a password; and a
 * client of it that hears when a session has ended.
 */
export const openTwoUpstreams = async (keep: ReturnType<typeof disposeAfterAll>) => {
  const ports = [await freePort(), await freePort()] as const
  const [issuer, there] = ports.map((port) => `http://127.0.0.1:${String(port)}`) as [string, string]
  const provider = keep(await startUpstream(() => [registration(issuer, 'corp')]))
  const signet = keep(await startSignetUpstream(issuer, 'bank'))
  const receiver = await openLogoutReceiver(keep)
  const deployment = keep(
    await prepareRestarts({
      configure: (written) => ({
        ...written,
        issuer,
        listen: { host: '127.0.0.1', port: ports[0] },
        outbound: { allow_private_addresses: true },
        acr_values_supported: [
          { acr: '1', methods: ['pwd'] },
          { acr: '2', methods: ['hwk'] },
        ],
        plugins: [
          ...(written['plugins'] as object[]),
          upstreamPlugin('corp', provider.issuer),
          upstreamPlugin('bank', signet.issuer),
        ],
        clients: [{ ...webClient, consent: 'implicit', backchannel_logout_uri: receiver.uri }],
      }),
    }),
  )
  const server: ReloadServer = keep(await deployment.start())
  await deployment.edit((written) => ({ ...written, listen: { host: '127.0.0.1', port: ports[1] } }))
  keep(await deployment.start())
  return {
    server,
    /** Where the other replica answers. */
    there,
    provider,
    receiver,
    upstreams: { corp: atProvider('corp', provider), bank: atSignet('bank', signet.issuer) },
  }
}

/** Presses the button of a method on the sign-in page. Where the browser goes. */
export const begin = async (agent: UserAgent, url: string | URL, method: string): Promise<URL> => {
  const page = await agent.follow(url)
  const { left } = await agent.submit(page.url, await page.response.text(), { method, begin: '1' })
  if (left === undefined) throw new Error('the browser stays')
  return left
}
