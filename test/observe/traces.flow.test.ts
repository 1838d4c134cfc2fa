import { AsyncLocalStorage } from 'node:async_hooks'
import { randomBytes } from 'node:crypto'
import {
  context,
  ROOT_CONTEXT,
  SpanStatusCode,
  trace,
  type Attributes,
  type Context,
  type ContextManager,
  type Span,
  type SpanStatus,
  type Tracer,
} from '@opentelemetry/api'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseTraceparent } from '../../core/observe/traceparent.js'
import { findTracing } from '../../core/observe/tracing.js'
import { basic } from '../support/clients/clients.js'
import { verifier } from '../support/forge/mint.js'
import { startTokenServer, type TokenServer } from '../support/server/token-server.js'
import { publicClient, serviceClient } from '../support/server/server.js'

interface Finished {
  name: string
  readonly traceId: string
  readonly spanId: string
  readonly parent: string | undefined
  readonly attributes: Attributes
  status?: SpanStatus
}

/** The least that an SDK is: spans in memory, contexts by AsyncLocalStorage. */
const finished: Finished[] = []
const local = new AsyncLocalStorage<Context>()
const contexts: ContextManager = {
  active: () => local.getStore() ?? ROOT_CONTEXT,
  with: (active, run, self, ...given) => local.run(active, () => run.apply(self as never, given)),
  bind: (_, target) => target,
  enable: () => contexts,
  disable: () => contexts,
}
const startSpan: Tracer['startSpan'] = (name, options, within = context.active()) => {
  const parent = trace.getSpanContext(within)
  const details: Finished = {
    name,
    traceId: parent?.traceId ?? randomBytes(16).toString('hex'),
    spanId: randomBytes(8).toString('hex'),
    parent: parent?.spanId,
    attributes: { ...options?.attributes },
  }
  const span = {
    spanContext: () => ({ traceId: details.traceId, spanId: details.spanId, traceFlags: 1 }),
    setAttribute: (key: string, value: string) => (Object.assign(details.attributes, { [key]: value }), span),
    setAttributes: (more: Attributes) => (Object.assign(details.attributes, more), span),
    setStatus: (status: SpanStatus) => ((details.status = status), span),
    updateName: (other: string) => ((details.name = other), span),
    end: () => void finished.push(details),
    isRecording: () => true,
  } as unknown as Span
  return span
}

const callers = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
const [, traceId, parentId] = callers.split('-')

/** The spans of the request with this id: itself and all below it. */
const spansOf = async (requestId: string | null): Promise<readonly Finished[]> => {
  const find = () => finished.find(({ attributes }) => attributes['signet.request_id'] === requestId)
  await expect.poll(find).toBeDefined()
  return finished.filter((span) => span.traceId === find()?.traceId)
}

describe('without an SDK', () => {
  let host: TokenServer
  beforeAll(async () => {
    host = await startTokenServer()
  })
  afterAll(() => host[Symbol.asyncDispose]())

  const lines = async (headers: Record<string, string>): Promise<readonly unknown[]> => {
    const form = { grant_type: 'client_credentials' }
    const answer = await host.token(form, { authorization: basic(serviceClient), ...headers })
    const id = answer.headers.get('x-request-id')
    return (await host.server.audit()).flatMap((line) => (line['request_id'] === id ? [line['traceparent']] : []))
  }

  it('there is no tracing, and the audit log has the traceparent of the caller', async () => {
    expect(await findTracing()).toBeUndefined()
    expect(await lines({ traceparent: callers })).toEqual([callers, callers])
  })

  it('one that is missing or malformed is ignored', async () => {
    expect(await lines({})).toEqual([undefined, undefined])
    for (const traceparent of [
      'x',
      callers.toUpperCase(),
      callers.replace(/^00/, 'ff'),
      `${callers}-00`,
      callers.replace(traceId!, '0'.repeat(32)),
      callers.replace(parentId!, '0'.repeat(16)),
      `${callers},${callers}`,
      `01-${'1'.repeat(300)}`,
    ])
      expect(await lines({ traceparent })).toEqual([undefined, undefined])
    // A later version may have more, and is read as far as it is known (W3C Trace Context §3.2.4).
    const later = callers.replace(/^00/, '01')
    expect(parseTraceparent(`${later}-what`)).toMatchObject({ traceId, spanId: parentId, traceFlags: 1 })
    expect(await lines({ traceparent: later })).toEqual([callers, callers])
  })
})

describe('with an SDK', () => {
  let host: TokenServer
  beforeAll(async () => {
    trace.setGlobalTracerProvider({ getTracer: () => ({ startSpan }) as unknown as Tracer })
    context.setGlobalContextManager(contexts)
    host = await startTokenServer()
  })
  afterAll(async () => {
    await host[Symbol.asyncDispose]()
    trace.disable()
    context.disable()
  })

  it('a request has a span of its own in the trace of the caller, and below it those of its steps', async () => {
    const { code } = await host.mint.code({ clientId: 'app' })
    const answer = await read(code, { traceparent: callers })
    const spans = await spansOf(answer.id)
    const request = spans.find(({ name }) => name === 'POST /token')
    expect(request).toMatchObject({
      traceId,
      parent: parentId,
      attributes: { 'http.request.method': 'POST', 'http.route': '/token', 'http.response.status_code': 200 },
    })
    const below = spans.filter(({ parent }) => parent === request?.spanId)
    const names = below.map(({ name }) => name)
    expect(names).toEqual(
      expect.arrayContaining(['client authentication', 'store findUnused', 'store redeem', 'signature']),
    )
    expect(below.find(({ name }) => name === 'signature')?.attributes).toMatchObject({
      'signet.kid': 'es256',
      'signet.signer': 'local',
    })
    expect(below.find(({ name }) => name === 'store redeem')?.attributes).toMatchObject({
      'db.collection.name': 'codes',
    })
    const audited = (await host.server.audit()).filter((line) => line['request_id'] === answer.id)
    expect(audited.map((line) => line['traceparent'])).toEqual(audited.map(() => `00-${traceId}-${request?.spanId}-01`))
    expect(audited.length).toBeGreaterThan(1)
  })

  it('a refusal is one in its span, and the spans of a request without a trace begin one', async () => {
    const answer = await read('no such code', {})
    const [refused, ...more] = (await spansOf(answer.id)).filter(({ parent }) => parent === undefined)
    expect(more).toEqual([])
    expect(refused?.attributes).toMatchObject({ 'http.response.status_code': 400, 'error.type': 'invalid_grant' })
    expect(refused?.status).not.toMatchObject({ code: SpanStatusCode.ERROR })
  })

  it('no span contains a code, a token, a secret, a client or a query', async () => {
    const { code } = await host.mint.code({ clientId: 'app' })
    const answer = await read(code, {})
    const tokens = JSON.parse(answer.text) as Record<string, string>
    await host.refresh(tokens['refresh_token'] ?? '')
    await host.token({ grant_type: 'client_credentials' }, { authorization: basic(serviceClient) })
    await fetch(`${host.server.issuer}/authorize?state=canary-of-the-query&client_id=${publicClient.client_id}`, {
      redirect: 'manual',
    })
    await expect.poll(() => finished.some(({ name }) => name === 'GET /authorize')).toBe(true)
    const exported = JSON.stringify(finished)
    const secrets = [code, tokens['access_token'], tokens['refresh_token'], tokens['id_token']]
    for (const secret of [...secrets, serviceClient.client_secret, basic(serviceClient), 'canary-of-the-query'])
      expect(exported).not.toContain(secret)
    for (const { attributes } of finished)
      for (const value of Object.values(attributes)) {
        expect(value).not.toBe(serviceClient.client_id)
        expect(value).not.toBe(publicClient.client_id)
      }
  })

  it('work in the background begins no trace', () => {
    expect(finished.filter(({ name, parent }) => parent === undefined && !/^(GET|POST|request)/.test(name))).toEqual([])
  })

  const read = async (code: string, headers: Record<string, string>) => {
    const response = await fetch(`${host.server.issuer}/token`, {
      method: 'POST',
      headers,
      body: new URLSearchParams({
        grant_type: 'authorization_code',
        client_id: publicClient.client_id,
        code,
        redirect_uri: publicClient.redirect_uris[0] ?? '',
        code_verifier: verifier,
      }),
    })
    return { id: response.headers.get('x-request-id'), text: await response.text() }
  }
})
