import express from 'express'
import fastify from 'fastify'
import { createServer as createHttp2Server, connect } from 'node:http2'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import Koa from 'koa'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createDevice, memoryStore, type Device } from '../../libraries/device/index.js'
import {
  createVerifier,
  forExpress,
  forFastify,
  forHttp,
  forKoa,
  type VerifiedRequest,
  type Verifier,
} from '../../libraries/verify/index.js'
import { startAttestationServer, type AttestationServer } from '../support/server/attestation-server.js'
import { listen } from '../support/verify/verify-server.js'

let issuer: AttestationServer
let device: Device
let verifier: Verifier
const closes: (() => Promise<unknown>)[] = []
/** Where each framework is, with the path below which it lies. */
const places: Record<string, { readonly url: string; readonly prefix: string }> = {}

/** What every server answers. */
const said = ({ principal, attributes, body }: VerifiedRequest) => ({
  who: principal.principalId,
  attributes,
  body: Buffer.from(body).toString(),
})

beforeAll(async () => {
  issuer = await startAttestationServer()
  const clock = issuer.host.now
  device = createDevice({ issuer: issuer.issuer, store: memoryStore(), clock })
  const secondFactor = { kind: 'word', value: 'right' }
  const attributes = { model: 'P1' }
  await device.enrol({ subject: 'alice', principalId: 'phone', principalType: 'device', attributes, secondFactor })
})
afterAll(async () => {
  for (const close of closes) await close()
  await issuer[Symbol.asyncDispose]()
})

const verifierFor = (origin: string): Verifier =>
  createVerifier({
    issuers: [issuer.issuer],
    audience: 'https://api.example',
    origin,
    clock: issuer.host.now,
    maxBodyBytes: 100,
  })
/** A verifier has to know where it is, which a port shows only once there is a server. */
const late: Verifier = { check: (request, given) => verifier.check(request, given) }

const start = async (name: string): Promise<{ readonly url: string; readonly prefix: string }> => {
  if (name === 'fastify') {
    const app = fastify()
    app.addHook('preParsing', forFastify(late))
    const answer = (request: object) => {
      const { device: found, body } = request as { device: VerifiedRequest; body: unknown }
      return { ...said(found), parsed: body ?? null }
    }
    app.get('/under/*', answer)
    app.post('/under/*', answer)
    const url = await app.listen({ port: 0, host: '127.0.0.1' })
    closes.push(() => app.close())
    return { url, prefix: '/under' }
  }
  const site = await listen(
    name === 'koa'
      ? new Koa()
          .use(forKoa(late))
          .use((ctx) => {
            ctx.body = said(ctx.state['device'] as VerifiedRequest)
          })
          .callback()
      : name === 'express'
        ? express().use('/under', forExpress(late), (request: object, response: { json(body: object): void }) => {
            response.json(said((request as { device: VerifiedRequest }).device))
          })
        : forHttp(late, (_request, response, found) => {
            response.end(JSON.stringify(said(found)))
          }),
  )
  closes.push(() => site.close())
  return { url: site.url, prefix: name === 'express' ? '/under' : '' }
}

const send = async (request: Request) => {
  const response = await fetch(request)
  return {
    status: response.status,
    headers: response.headers,
    body: (await response.json()) as Record<string, unknown>,
  }
}

describe.each(['http', 'koa', 'express', 'fastify'])('a device of Signet and a service with %s', (name) => {
  beforeAll(async () => {
    places[name] = await start(name)
  })
  const at = (path: string): string => {
    const { url, prefix } = places[name] ?? { url: '', prefix: '' }
    verifier = verifierFor(url)
    return `${url}${prefix}${path}`
  }
  const forms = ['jws', 'http-message-signature'] as const
  const json = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"amount":7}' }

  it.each(forms)('accepts a request with a query, and one with a body, as %s', async (form) => {
    const sign = (request: Request) => device.sign(request, { audience: 'https://api.example', form })
    const good = { who: 'phone', attributes: { model: 'P1' } }
    const url = at('/a%20b?c=%2F&d')
    const request = await sign(new Request(url))
    expect(await send(request.clone())).toMatchObject({ status: 200, body: { ...good, body: '' } })
    const again = await send(request)
    expect(again).toMatchObject({ status: 401, body: { error: 'invalid_signature', error_code: 'replay_detected' } })
    expect(again.headers.get('www-authenticate')).toMatch(/^DeviceSignature error="invalid_signature"/)
    expect(again.headers.get('content-type')).toMatch(/^application\/json/)
    expect(again.headers.get('cache-control')).toBe('no-store')
    expect(await send(await sign(new Request(url, json)))).toMatchObject({
      status: 200,
      body: { ...good, body: '{"amount":7}', ...(name === 'fastify' && { parsed: { amount: 7 } }) },
    })
  })

  it('VR19: refuses what was signed for another endpoint, and what is not signed', async () => {
    const url = at('/a')
    const request = await device.sign(new Request(url), { audience: 'https://api.example' })
    const elsewhere = new Request(at('/b'), { headers: request.headers })
    expect(await send(elsewhere)).toMatchObject({ status: 401, body: { error_code: 'path_mismatch' } })
    expect(await send(new Request(url))).toMatchObject({ status: 401, body: { error_code: 'missing_credential' } })
  })

  it('VR21: answers a body that is too large with 413', async () => {
    const large = new Request(at('/a'), { method: 'POST', body: 'x'.repeat(101) })
    const request = await device.sign(large, { audience: 'https://api.example' })
    expect(await send(request)).toMatchObject({ status: 413, body: { error_code: 'body_too_large' } })
  })
})

it('a body that was parsed before is a mistake of the service, not of the device', async () => {
  const failures: unknown[] = []
  const app = express()
    .use(express.json(), forExpress(late))
    .use(
      (
        error: unknown,
        _request: object,
        response: { status(code: number): { json(body: object): void } },
        _next: unknown,
      ) => {
        failures.push(error)
        response.status(500).json({})
      },
    )
  const site = await listen(app)
  closes.push(() => site.close())
  verifier = verifierFor(site.url)
  const request = new Request(`${site.url}/a`, {
    method: 'POST',
    body: '{"amount":7}',
    headers: { 'content-type': 'application/json' },
  })
  expect((await send(await device.sign(request, { audience: 'https://api.example' }))).status).toBe(500)
  expect(failures).toEqual([expect.any(TypeError)])
})

it('serves HTTP/2, where bodies come without a length', async () => {
  const server = createHttp2Server((request, response) => {
    verifierFor('https://api.example')
      .check(request as never)
      .then(
        (found) => response.end(JSON.stringify(said(found))),
        (error: Error) => response.end(JSON.stringify({ error: error.message })),
      )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const session = connect(`http://127.0.0.1:${String((server.address() as AddressInfo).port)}`)
  const ask = async (method: string, body: string) => {
    const plain = new Request('https://api.example/a?b', { method, ...(body !== '' && { body }) })
    const { headers } = await device.sign(plain, { audience: 'https://api.example' })
    const stream = session.request({ ':method': method, ':path': '/a?b', ...Object.fromEntries(headers) })
    if (body !== '') stream.end(body)
    let text = ''
    for await (const chunk of stream) text += String(chunk)
    return JSON.parse(text) as unknown
  }
  expect(await ask('POST', 'hello')).toMatchObject({ who: 'phone', body: 'hello' })
  expect(await ask('GET', '')).toMatchObject({ who: 'phone', body: '' })
  session.close()
  server.close()
})
