import { expect, it } from 'vitest'
import { createOutboundRequest } from '../../core/outbound/outbound-fetch.js'
import { packageVersion } from '../../core/package-root.js'
import { Unavailable } from '../../core/unavailable.js'
import { userAgent } from '../../libraries/wire/user-agent.js'
import { jsonAnswer, noAnswers, openSite } from '../support/server/site.js'

const request = createOutboundRequest({ allowPrivateAddresses: true, deadlineMs: 300 })

it('names the version of the package in User-Agent, which a caller cannot change', async () => {
  expect(userAgent).toBe(`signet/${packageVersion}`)
  await using site = await openSite()
  await request(site.url, { method: 'GET', headers: { 'User-Agent': 'another', 'x-api-key': 'of the loan service' } })
  expect(site.asked[0]!.headers).toMatchObject({ 'user-agent': userAgent, 'x-api-key': 'of the loan service' })
})

it.each(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const)('sends %s and gives any status', async (method) => {
  await using site = await openSite((_request, response) => {
    response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":"no such loan"}')
  })
  const answer = await request(site.url, { method, headers: {} })
  expect(site.asked[0]!.method).toBe(method)
  expect(answer).toMatchObject({ status: 404, headers: { 'content-type': 'application/json' } })
  expect(Buffer.from(answer.bytes).toString()).toBe(method === 'HEAD' ? '' : '{"error":"no such loan"}')
})

it.each([
  ['GET', 'no'],
  ['HEAD', 'no'],
  ['POST', 'unknown'],
  ['DELETE', 'unknown'],
] as const)('reports %s without an answer as applied: %s', async (method, applied) => {
  await using site = await openSite(noAnswers['closes the connection'])
  const failure: unknown = await request(site.url, { method, headers: {} }).catch((error: unknown) => error)
  expect(failure).toBeInstanceOf(Unavailable)
  expect(failure).toMatchObject({ component: 'outbound', applied })
})

it('ends when its signal does, before and during the request', async () => {
  await using site = await openSite(noAnswers['hangs'])
  const controller = new AbortController()
  const waiting = request(site.url, { method: 'GET', headers: {}, signal: controller.signal })
  await expect.poll(() => site.asked.length).toBe(1)
  controller.abort(new Error('the caller left'))
  await expect(waiting).rejects.toThrow('the caller left')
  const late = request(site.url, { method: 'GET', headers: {}, signal: AbortSignal.abort(new Error('too late')) })
  await expect(late).rejects.toThrow('too late')
  expect(site.asked).toHaveLength(1)
  site.answer = jsonAnswer({})
  expect(await request(site.url, { method: 'GET', headers: {} })).toMatchObject({ status: 200 })
})
