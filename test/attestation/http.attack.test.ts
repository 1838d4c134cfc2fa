import { request } from 'node:http'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { postJson, type AttestationAnswer } from '../support/clients/attestation.js'
import {
  expectNamed,
  expectUncached,
  startAttestationServer,
  type AttestationServer,
} from '../support/server/attestation-server.js'

let server: AttestationServer
beforeAll(async () => {
  server = await startAttestationServer()
})
afterEach(() => server.expectGood())
afterAll(() => server[Symbol.asyncDispose]())

const paths = ['/enrol', '/enrol/complete', '/reissue', '/challenge']

/** Sends exactly these bytes under these headers. */
const send = (path: string, method: string, body: string | Buffer, headers: Record<string, string> = {}) =>
  new Promise<AttestationAnswer>((resolve, reject) => {
    const sent = request(server.issuer + path, { method, headers }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString()
        const isJson = response.headers['content-type']?.startsWith('application/json') === true
        const answered = new Headers(
          Object.entries(response.headers).map(([name, value]): [string, string] => [name, String(value)]),
        )
        const parsed = isJson && text !== '' ? (JSON.parse(text) as Record<string, unknown>) : {}
        resolve({ status: response.statusCode ?? 0, headers: answered, text, body: parsed })
      })
    })
    sent.on('error', reject)
    sent.end(body)
  })

describe.each(paths)('row 42 to 44: %s', (path) => {
  it.each(['GET', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'])('%s: 405, with Allow', async (method) => {
    const answer = await send(path, method, '')
    expectNamed(answer, 'InvalidRequest', 405)
    expect(answer.headers.get('allow')).toBe('POST')
  })

  it('HEAD: 405', async () => {
    expect((await send(path, 'HEAD', '')).status).toBe(405)
  })

  it.each([
    'application/x-www-form-urlencoded',
    'text/plain',
    'text/plain;application/json',
    'application/jsonx',
    'application/json, text/plain',
    'application/json; charset=latin1',
    'application/vnd.api+json',
    'multipart/form-data',
    '',
  ])('content type %j: 415', async (type) => {
    expectNamed(await send(path, 'POST', '{}', { 'content-type': type }), 'InvalidRequest', 415)
  })

  it('no content type, a content coding: 415', async () => {
    expectNamed(await send(path, 'POST', '{}'), 'InvalidRequest', 415)
    const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' }
    expectNamed(await send(path, 'POST', '{}', headers), 'InvalidRequest', 415)
  })

  it.each([
    ['[]'],
    ['"x"'],
    ['null'],
    ['1'],
    ['{'],
    ['{}{}'],
    ['{} x'],
    ['{"a":1,"a":2}'],
    ['{"a":{"b":1,"\\u0062":2}}'],
    ['{"__proto__":{}}'],
    ["{'a':1}"],
    ['{"a":1,}'],
    ['{"a":NaN}'],
    [' '],
    [`${'{"a":'.repeat(500)}1${'}'.repeat(500)}`],
    ['['.repeat(5000)],
  ])('%.30s: 400', async (body) => {
    expectNamed(await postJson(server.issuer + path, body), 'InvalidRequest')
  })

  it('bytes that are not UTF-8, a byte order mark', async () => {
    const headers = { 'content-type': 'application/json' }
    for (const bytes of [
      [0x7b, 0xff, 0x7d],
      [0xef, 0xbb, 0xbf, 0x7b, 0x7d],
      [0xff, 0xfe, 0x7b, 0x00, 0x7d, 0x00],
    ])
      expectNamed(await send(path, 'POST', Buffer.from(bytes), headers), 'InvalidRequest')
  })

  it('parameters in the query', async () => {
    expectNamed(await postJson(`${server.issuer}${path}?challenge=x`, {}), 'InvalidRequest')
  })

  it('no other origin can read an answer, and cookies are ignored', async () => {
    const headers = { origin: 'https://evil.example', cookie: 'session=x', 'sec-fetch-site': 'cross-site' }
    expectUncached(await postJson(server.issuer + path, {}, headers))
    const preflight = { origin: 'https://evil.example', 'access-control-request-method': 'POST' }
    const answer = await send(path, 'OPTIONS', '', preflight)
    expect(answer.status).toBe(405)
    expect([...answer.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([])
  })
})

it('row 44: successful answers are not cacheable either', async () => {
  const device = await server.device()
  const enrolled = await device.enrol()
  const completed = await device.complete(enrolled.body['challenge'])
  const renewed = await device.reissue(completed.body['attestation'])
  for (const answer of [enrolled, completed, renewed, await postJson(`${server.issuer}/challenge`, {})]) {
    expect(answer.status).toBe(200)
    expectUncached(answer)
    expect(answer.headers.get('pragma')).toBe('no-cache')
  }
})

it('charset and case of the media type', async () => {
  const device = await server.device()
  for (const type of ['application/json; charset=utf-8', 'Application/JSON', 'application/json;charset="UTF-8"']) {
    const body = JSON.stringify(device.enrolment())
    expect((await send('/enrol', 'POST', body, { 'content-type': type })).status).toBe(200)
  }
})

it('near misses of paths are refused', async () => {
  for (const path of [
    '/enrol/',
    '/Enrol',
    '/enrol//complete',
    '/enrol/complete/',
    '/enroll',
    '/reissue/',
    '/enrol%2Fcomplete',
  ])
    expect((await postJson(server.issuer + path, {})).status).toBe(404)
})

it('the ceremony works under an issuer with a path', async () => {
  await using below = await startAttestationServer({
    configure: (written) => ({ ...written, issuer: `${String(written['issuer'])}/op` }),
  })
  const device = await below.device()
  await device.renew(await device.attest())
  expect((await postJson(`${new URL(below.issuer).origin}/enrol`, {})).status).toBe(404)
})
