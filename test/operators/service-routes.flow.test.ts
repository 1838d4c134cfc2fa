import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse, stringify } from 'yaml'
import { startOperatorServer, type AskApi, type OperatorServer } from '../support/server/operator-server.js'

let server: OperatorServer
let custodian: AskApi
let operator: AskApi
beforeAll(async () => {
  server = await startOperatorServer({
    configure: ({ registration: _, ...written }) => ({ ...written, registration: { mode: 'initial_access_token' } }),
  })
  custodian = await server.as('key_custodian')
  operator = await server.as('operator')
})
afterAll(() => server[Symbol.asyncDispose]())

/** Changes the file on the host, and returns what puts it back. */
const changeFile = async (change: (text: string) => string) => {
  const file = join(server.directory, 'signet.yaml')
  const before = await readFile(file, 'utf8')
  await writeFile(file, change(before))
  return () => writeFile(file, before)
}

describe('the service in the admin API', () => {
  it('AD03: shows the configuration without secrets and without people', async () => {
    const { status, body } = await operator('/configuration')
    expect(status).toBe(200)
    expect(body.issuer).toBe(server.issuer)
    expect(body.id_token_signing_alg).toMatch(/^(?:RS|ES|PS|Ed)/)
    const text = JSON.stringify(body)
    expect(text).not.toContain('correct horse')
    expect(text).not.toContain('alice')
    expect(body.clients.every((client: Record<string, unknown>) => client['client_secret'] !== '')).toBe(true)
  })

  it('compares the file with what runs, and reloads it', async () => {
    expect((await operator('/configuration/diff')).body).toMatchObject({ changes: {}, restart: [] })
    const restore = await changeFile((text) => {
      const written = parse(text)
      return stringify({
        ...written,
        clients: [
          ...written.clients,
          { client_id: 'added', redirect_uris: ['https://a.example/cb'], token_endpoint_auth_method: 'none' },
        ],
      })
    })
    const { body } = await operator('/configuration/diff')
    expect(body.changes.clients).toMatchObject({ added: ['added'], removed: [] })
    const reloaded = await operator('/configuration/reload', { method: 'POST', body: {} })
    expect(reloaded).toMatchObject({ status: 200, body: { status: 'reloaded' } })
    expect((await operator('/clients/added')).body).toMatchObject({ source: 'configuration' })
    const loaded = (await server.audit()).findLast(({ event }) => event === 'configuration.loaded')
    expect(loaded).toMatchObject({ by: { via: 'api', operator: 'operator' } })
    await restore()
    await operator('/configuration/reload', { method: 'POST', body: {} })
  })

  it('reports every problem of a file that is not valid, and changes nothing', async () => {
    const restore = await changeFile((text) => `${text}\nmisspelt: true\n`)
    for (const ask of [
      () => operator('/configuration/diff'),
      () => operator('/configuration/reload', { method: 'POST', body: {} }),
    ])
      expect(await ask()).toMatchObject({
        ...{
          status: 400,
          body: { code: 'invalid_configuration', errors: [expect.objectContaining({ path: 'misspelt' })] },
        },
      })
    await restore()
  })

  it('shows keys and signers, and proves them', async () => {
    const { items } = (await custodian('/keys')).body
    expect(items.length).toBeGreaterThan(0)
    expect(items[0]).toMatchObject({ state: 'active', trust: 'proved', published: true })
    const [{ name }] = (await custodian('/signers')).body.items
    const proved = await custodian(`/signers/${name}/prove`, { method: 'POST' })
    expect(proved.body.items).toContainEqual(expect.objectContaining({ kid: items[0].kid, outcome: 'passed' }))
    expect((await custodian('/signers/none/prove', { method: 'POST' })).status).toBe(404)
    expect((await operator(`/signers/${name}/prove`, { method: 'POST' })).status).toBe(403)
    expect((await custodian('/slots')).body).toEqual({ items: [] })
    expect(await custodian('/slots/none/rotate', { method: 'POST', body: {} })).toMatchObject({ status: 404 })
  })

  it('shows its components', async () => {
    const { body } = await operator('/components')
    expect(body).toMatchObject({ ready: true, components: { audit: { status: 'up' } } })
  })

  it('issues and revokes initial access tokens', async () => {
    const issued = await operator('/initial-access-tokens', { method: 'POST', body: { uses: 2, note: 'Example Ltd' } })
    expect(issued).toMatchObject({ status: 201, body: { token: expect.stringContaining(issued.body.id) } })
    const { items } = (await operator('/initial-access-tokens')).body
    expect(items).toEqual([expect.objectContaining({ id: issued.body.id, uses: 2, used: 0, note: 'Example Ltd' })])
    expect(JSON.stringify(items)).not.toContain('sha256')
    expect((await operator(`/initial-access-tokens/${issued.body.id}`, { method: 'DELETE' })).status).toBe(204)
    expect((await operator(`/initial-access-tokens/${issued.body.id}`, { method: 'DELETE' })).status).toBe(404)
  })

  it('says that nothing is enrolled where nothing is', async () => {
    expect((await operator('/principals')).body).toEqual({ items: [] })
    expect((await operator('/principals/none')).status).toBe(404)
    expect(await operator('/principals/waiting')).toMatchObject({ status: 409, body: { code: 'no_approvals' } })
  })

  it('describes every route with a unique operation', async () => {
    const { body } = await operator('/openapi.json')
    const operations = Object.values(body.paths as Record<string, Record<string, { operationId: string }>>).flatMap(
      (methods) => Object.values(methods).map(({ operationId }) => operationId),
    )
    expect(new Set(operations).size).toBe(operations.length)
    expect(operations).toContain('rotateSlot')
  })
})
