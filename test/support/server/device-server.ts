import { expect } from 'vitest'
import { deviceGrant, personAt, tvClient, withDevices, type DevicePerson } from '../clients/device.js'
import { person } from './server.js'
import { UserAgent } from '../clients/user-agent.js'
import { basic, type Credentials } from '../clients/clients.js'
import { expectRefusal, postForm, startTokenServer, type Answer, type TokenServer } from './token-server.js'

type Json = Record<string, unknown>

export interface StartedDevice {
  readonly deviceCode: string
  readonly userCode: string
}

export interface DeviceServer extends TokenServer {
  /** POST /device_authorization. */
  ask(form?: string | Readonly<Record<string, string>>, client?: Credentials): Promise<Answer>
  /** What a good request gives. */
  start(client?: Credentials, scope?: string): Promise<StartedDevice>
  poll(deviceCode: string, client?: Credentials): Promise<Answer>
  /** A browser of its own. */
  newPerson(): DevicePerson & { readonly agent: UserAgent }
  /** Time that the next poll has to wait, and that guesses are forgotten in, passes. */
  rest(): void
  expectPending(device: StartedDevice, client?: Credentials): Promise<void>
  /** An honest flow: a device asks, a person allows it, the device gets its tokens. */
  expectGoodDevice(client?: Credentials): Promise<Json>
}

export const startDeviceServer = async (configure = (written: Json): Json => written): Promise<DeviceServer> => {
  const host = await startTokenServer({
    configure: (written) => configure({ ...withDevices(written), trusted_proxies: [] }),
  })
  const { issuer } = host.server

  /** Every device has one address, whose starts are counted. */
  const home = { 'x-forwarded-for': '127.0.0.1' }

  const post = async (path: string, body: string, client: Credentials): Promise<Answer> => {
    if (client.client_secret !== undefined)
      return postForm(issuer + path, body, { ...home, authorization: basic(client) })
    return postForm(issuer + path, `client_id=${encodeURIComponent(client.client_id)}&${body}`, home)
  }

  const server: DeviceServer = {
    ...host,
    ask: (form = { scope: 'openid profile' }, client = tvClient) =>
      post('/device_authorization', typeof form === 'string' ? form : new URLSearchParams(form).toString(), client),
    async start(client, scope = 'openid profile offline_access read') {
      const { status, body } = await server.ask({ scope }, client)
      expect(status).toBe(200)
      return { deviceCode: String(body['device_code']), userCode: String(body['user_code']) }
    },
    poll: (device_code, client = tvClient) =>
      post('/token', new URLSearchParams({ grant_type: deviceGrant, device_code }).toString(), client),
    newPerson() {
      const agent = new UserAgent()
      return { ...personAt(agent, issuer), agent }
    },
    rest: () => host.later(3_600_000),
    async expectPending({ deviceCode }, client) {
      expectRefusal(await server.poll(deviceCode, client), 400, 'authorization_pending')
    },
    async expectGoodDevice(client) {
      const device = await server.start(client)
      await server.expectPending(device, client)
      expect(await server.newPerson().answer(person, device.userCode)).toMatchObject({ status: 200 })
      host.later(5000)
      const answer = await server.poll(device.deviceCode, client)
      expect(answer).toMatchObject({ status: 200, body: { access_token: expect.any(String) } })
      return answer.body
    },
    [Symbol.asyncDispose]: () => host[Symbol.asyncDispose](),
  }
  return server
}
