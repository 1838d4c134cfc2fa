import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { basic } from '../support/clients/clients.js'
import {
  prepareDeployment,
  publicClient,
  serviceClient,
  type TestDeployment,
  type TestServer,
} from '../support/server/server.js'

const postClient = {
  client_id: 'poster',
  client_secret: 'poster-secret-of-more-than-256-bits-for-tests',
  token_endpoint_auth_method: 'client_secret_post',
  grant_types: ['client_credentials'],
  scope: 'read',
}

let deployment: TestDeployment
let server: TestServer
let now = Date.now()
beforeAll(async () => {
  deployment = await prepareDeployment({
    clock: () => now,
    configure: (written) => ({
      ...written,
      trusted_proxies: ['127.0.0.1/32'],
      clients: [...(written['clients'] as object[]), postClient],
    }),
  })
  server = await deployment.start()
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  await deployment[Symbol.asyncDispose]()
})
// All guesses of an earlier test are forgotten.
beforeEach(() => void (now += 86_400_000))

const here = '192.0.2.1'

const ask = (path: string, form: Record<string, string>, authorization?: string, address = here): Promise<Response> =>
  fetch(`${server.issuer}${path}`, {
    method: 'POST',
    headers: { 'x-forwarded-for': address, ...(authorization !== undefined && { authorization }) },
    body: new URLSearchParams(form),
  })

const withSecret = (client_secret: string, address = here, path = '/token'): Promise<Response> =>
  ask(
    path,
    path === '/token' ? { grant_type: 'client_credentials' } : { token: 'x'.repeat(43) },
    basic({ ...serviceClient, client_secret }),
    address,
  )

const right = (address = here): Promise<Response> => withSecret(serviceClient.client_secret, address)
const wrong = (address = here, path = '/token'): Promise<Response> => withSecret(randomUUID(), address, path)

const guess = async (times: number, one: () => Promise<Response>): Promise<number[]> => {
  const statuses: number[] = []
  for (let time = 0; time < times; time++) statuses.push((await one()).status)
  return statuses
}

const elevenWrong: number[] = Array<number>(11).fill(401)

describe('guesses at a client secret', () => {
  it('CA32 wait longer and longer after ten, up to a minute, even with the right secret, until one succeeds', async () => {
    expect(await guess(13, wrong)).toEqual([...elevenWrong, 429, 429])
    const delays: number[] = []
    for (let time = 0; time < 8; time++) {
      const refused = await right()
      expect(refused.status).toBe(429)
      expect(await refused.json()).toEqual({
        error: 'temporarily_unavailable',
        error_description: 'Too many requests.',
      })
      const wait = Number(refused.headers.get('retry-after'))
      delays.push(wait)
      now += wait * 1000
      if (time < 7) expect((await wrong()).status).toBe(401)
    }
    expect(delays).toEqual([1, 2, 4, 8, 16, 32, 60, 60])
    expect((await right()).status).toBe(200)
    expect(await guess(12, wrong)).toEqual([...elevenWrong, 429])
  })

  it('CA33 are counted for all endpoints together, and for one client from one address alone', async () => {
    const paths = ['/token', '/introspect', '/revoke']
    let asked = 0
    expect(await guess(12, () => wrong(here, paths[asked++ % 3]))).toEqual([...elevenWrong, 429])
    expect(await guess(3, () => wrong(here, paths[asked++ % 3]))).toEqual([429, 429, 429])
    expect((await right('192.0.2.2')).status).toBe(200)
    const { client_id, client_secret } = postClient
    const other = { grant_type: 'client_credentials', client_id }
    expect((await ask('/token', { ...other, client_secret })).status).toBe(200)
    expect(await guess(12, () => ask('/token', { ...other, client_secret: randomUUID() }))).toEqual([
      ...elevenWrong,
      429,
    ])
    expect((await right()).status).toBe(429)
  })

  it('CA33 are those of the /64 of IPv6', async () => {
    let host = 0
    expect(await guess(12, () => wrong(`2001:db8::${(++host).toString(16)}`))).toEqual([...elevenWrong, 429])
    expect((await right('2001:db8:0:1::1')).status).toBe(200)
  })

  it('CA34 are counted when they come at once', async () => {
    expect((await wrong()).status).toBe(401)
    const answers = await Promise.all(Array.from({ length: 200 }, () => wrong()))
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(10)
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(190)
  })

  it('CA35 are counted by all processes together, over a restart too', async () => {
    expect(await guess(12, wrong)).toEqual([...elevenWrong, 429])
    await server[Symbol.asyncDispose]()
    server = await deployment.start()
    // The first one that this process sees fail is counted after it was judged.
    expect(await guess(2, wrong)).toEqual([429, 429])
    expect((await right()).status).toBe(429)
  })

  it('CA36 do not include requests of unknown clients, other methods and public clients', async () => {
    const grant = { grant_type: 'client_credentials' }
    const unknown = { client_id: 'nobody', client_secret: 'x' }
    const other = { ...serviceClient, client_id: postClient.client_id }
    const named = { grant_type: 'refresh_token', refresh_token: 'x', client_id: publicClient.client_id }
    for (const credentials of [unknown, other])
      expect(new Set(await guess(15, () => ask('/token', grant, basic(credentials))))).toEqual(new Set([401]))
    expect(new Set(await guess(15, () => ask('/token', named)))).toEqual(new Set([400]))
    const { client_id, client_secret } = postClient
    expect((await ask('/token', { ...grant, client_id, client_secret })).status).toBe(200)
  })
})
