import { beforeAll, expect, it } from 'vitest'
import { disposeAfterAll } from '../support/dispose-after-all.js'
import { startOperatorServer, type OperatorServer } from '../support/server/operator-server.js'

const keep = disposeAfterAll()
let server: OperatorServer
beforeAll(async () => {
  server = keep(await startOperatorServer())
})

it('the description of the API has no reference that leads nowhere, and each operation once', async () => {
  const { body } = await (await server.as('operator'))('/openapi.json')
  const references = [...JSON.stringify(body).matchAll(/"\$ref":"#\/([^"]+)"/g)].map(([, path = '']) => path)
  expect(references.length).toBeGreaterThan(100)
  for (const path of new Set(references)) {
    let found: unknown = body
    for (const name of path.split('/')) found = (found as Record<string, unknown> | undefined)?.[name]
    expect(found, path).toBeDefined()
  }
  const operations = Object.values(body.paths as Record<string, Record<string, { operationId: string }>>).flatMap(
    (methods) => Object.values(methods).map(({ operationId }) => operationId),
  )
  expect(new Set(operations).size).toBe(operations.length)
})

it('what no route serves below the API is refused with a problem document, too', async () => {
  const operator = await server.as('operator')
  for (const path of ['/none', `/people/${'x'.repeat(600)}`, '/people/a/b/c/d']) {
    const refused = await operator(path)
    expect(refused).toMatchObject({ status: 404, body: { status: 404, code: 'invalid_request' } })
    expect(refused.headers.get('content-type')).toBe('application/problem+json')
  }
  expect(await operator('/people', { method: 'PUT' })).toMatchObject({ status: 405, body: { status: 405 } })
})
