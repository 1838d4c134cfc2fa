import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startOperatorServer, type AskApi, type OperatorServer } from '../support/server/operator-server.js'

let server: OperatorServer
let operator: AskApi
beforeAll(async () => {
  server = await startOperatorServer()
  operator = await server.as('operator')
})
afterAll(() => server[Symbol.asyncDispose]())

const shop = (client_id: string) => ({
  client_id,
  client_name: 'Shop',
  grant_types: ['client_credentials'],
  redirect_uris: [],
})

describe('clients in the admin API', () => {
  it('are created, read, changed, and deleted, on condition of the version that was read', async () => {
    const created = await operator('/clients', { method: 'POST', body: shop('shop') })
    expect(created).toMatchObject({ status: 201, body: { client_id: 'shop', client_secret: expect.any(String) } })
    expect(created.headers.get('location')).toBe('/api/v1/clients/shop')
    const read = await operator('/clients/shop')
    expect(read).toMatchObject({ status: 200, body: { client_name: 'Shop', source: 'store', has_secret: true } })
    expect(JSON.stringify(read.body)).not.toContain('sha256')
    const etag = read.headers.get('etag')!
    expect(etag).toBe(created.headers.get('etag'))

    const patch = { method: 'PATCH', body: { client_name: 'Shop 2' } }
    expect(await operator('/clients/shop', patch)).toMatchObject({
      status: 428,
      body: { code: 'precondition_required' },
    })
    const changed = await operator('/clients/shop', { ...patch, headers: { 'If-Match': etag } })
    expect(changed.status).toBe(200)
    const second = { method: 'PATCH', body: { client_name: 'Shop 3' }, headers: { 'If-Match': etag } }
    expect(await operator('/clients/shop', second)).toMatchObject({ status: 412, body: { code: 'changed_meanwhile' } })
    expect((await operator('/clients/shop')).body.client_name).toBe('Shop 2')

    const now = { 'If-Match': changed.headers.get('etag')! }
    expect((await operator('/clients/shop', { method: 'DELETE', headers: { 'If-Match': etag } })).status).toBe(412)
    expect((await operator('/clients/shop', { method: 'DELETE', headers: now })).status).toBe(204)
    expect(await operator('/clients/shop')).toMatchObject({ status: 404, body: { code: 'unknown' } })

    const events = await server.audit()
    const update = events.find(({ action, event }) => event === 'administration' && action === 'client.update')
    expect(update).toMatchObject({
      by: { via: 'api', operator: 'operator', proof: 'token', credential: expect.any(String) },
      ...{ client_id: 'shop', request_id: changed.headers.get('x-request-id') },
      ...{ before: { client_name: 'Shop' }, after: { client_name: 'Shop 2' } },
    })
  })

  it('are created once for one Idempotency-Key', async () => {
    const request = { method: 'POST', body: shop('once'), headers: { 'Idempotency-Key': 'once-and-only' } }
    const first = await operator('/clients', request)
    const repeated = await operator('/clients', request)
    expect(first.status).toBe(201)
    expect(repeated).toMatchObject({ status: 201, body: first.body })
    const other = { ...request, body: shop('other') }
    expect(await operator('/clients', other)).toMatchObject({ status: 422, body: { code: 'idempotency_key_reused' } })
    expect(await operator('/clients', { ...request, headers: {} })).toMatchObject({
      status: 409,
      body: { code: 'exists' },
    })
  })

  it('report every fault of their metadata with its path', async () => {
    const refused = await operator('/clients', { method: 'POST', body: { client_id: 'x', redirect_uri: 'a' } })
    expect(refused).toMatchObject({ status: 400, body: { code: 'invalid', errors: expect.any(Array) } })
    expect(refused.headers.get('content-type')).toBe('application/problem+json')
    expect(refused.body.errors).toContainEqual({
      path: 'redirect_uri',
      message: expect.stringContaining('redirect_uris'),
    })
  })

  it('are addressed by ids with any printable characters', async () => {
    const id = 'https://rp.example/a b?c=%2F'
    expect((await operator('/clients', { method: 'POST', body: shop(id) })).status).toBe(201)
    const { status, body } = await operator(`/clients/${encodeURIComponent(id)}`)
    expect({ status, id: body.client_id }).toEqual({ status: 200, id })
  })

  it('are listed page by page, with cursors that belong to the list', async () => {
    const seen: string[] = []
    let cursor = ''
    do {
      const { body } = await operator(`/clients?limit=1${cursor}`)
      seen.push(...body.items.map(({ client_id }: { client_id: string }) => client_id))
      cursor = body.next_cursor === undefined ? '' : `&cursor=${body.next_cursor}`
    } while (cursor !== '')
    expect(seen).toEqual(seen.toSorted())
    expect(seen).toContain('once')
    const forged = `${Buffer.from('once').toString('base64url')}.${'A'.repeat(43)}`
    for (const wrong of ['x', 'b25jZQ', forged])
      expect(await operator(`/clients?cursor=${wrong}`)).toMatchObject({
        status: 400,
        body: { code: 'invalid_cursor' },
      })
  })

  it('are not shown or changed without the permission, and the refusal is recorded', async () => {
    const support = await server.as('support')
    expect(await support('/clients')).toMatchObject({ status: 403, body: { code: 'access_denied' } })
    const viewer = await server.as('viewer')
    expect((await viewer('/clients')).status).toBe(200)
    expect((await viewer('/clients', { method: 'POST', body: shop('no') })).status).toBe(403)
    expect(await server.ask('/clients')).toMatchObject({ status: 401, body: { code: 'invalid_token' } })
    const refused = (await server.audit()).filter(({ event }) => event === 'operator.refused')
    expect(refused).toContainEqual(
      expect.objectContaining({
        ...{
          permission: 'clients.read',
          route: '/api/v1/clients',
          by: expect.objectContaining({ operator: 'support' }),
        },
      }),
    )
  })
})
