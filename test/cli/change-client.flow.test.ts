import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isoTime } from '../../core/clock.js'
import type { Client } from '../../core/oauth/clients/client.js'
import { openEmbedded } from '../../stores/embedded/open-embedded.js'
import { collectionsOf } from '../support/forge/mint.js'
import { openClientCommands, type ClientCommands } from '../support/server/client-commands.js'
import { requestToken } from '../support/server/command-line.js'

let host: ClientCommands
let { cli, service, clients } = {} as ClientCommands
beforeAll(async () => {
  host = await openClientCommands()
  ;({ cli, service, clients } = host)
  await addService('refusing')
  await cli.write('secret.json', JSON.stringify({ client_secret: 'a secret that somebody has thought of' }))
  await cli.write('id.json', JSON.stringify({ client_id: 'another' }))
})
afterAll(() => host[Symbol.asyncDispose]())

const addService = async (id: string): Promise<string> => {
  const added = await clients(
    'add',
    '--client-id',
    id,
    '--grant-type',
    'client_credentials',
    '--scope',
    'api',
    '--json',
  )
  return (JSON.parse(added.stdout) as { client_secret: string }).client_secret
}
/** Without the use of its tokens, which is written some time after they were issued. */
const shown = async (id: string) => {
  const client = JSON.parse((await clients('show', id, '--json')).stdout) as Record<string, unknown>
  const uses = ['last_used', 'algorithms']
  return Object.fromEntries(Object.entries(client).filter(([name]) => !uses.includes(name)))
}
const status = async (id: string, secret: string) => (await requestToken(service, id, secret)).status
const actions = async () => {
  const audit = await readFile(join(cli.folder, 'data', 'audit.jsonl'), 'utf8')
  return [...audit.matchAll(/"event":"administration","action":"(client\.[a-z_]+)","client_id":"([^"]+)"/g)].map(
    ([, action, id]) => `${action} ${id}`,
  )
}

describe('a client in the store, while the service runs', () => {
  it('changes the given metadata, and keeps the rest and the secret', async () => {
    const secret = await addService('kept')
    const before = await shown('kept')
    expect(await clients('update', 'kept', '--name', 'Kept')).toMatchObject({ code: 0, stdout: 'Updated kept\n' })
    expect(await shown('kept')).toEqual({ ...before, client_name: 'Kept' })
    expect(await status('kept', secret)).toBe(200)

    await cli.write('update.json', JSON.stringify({ client_name: null, contacts: ['ops@shop.example'] }))
    await clients('update', 'kept', '--file', 'update.json')
    expect(await shown('kept')).toEqual({ ...before, contacts: ['ops@shop.example'] })
    expect(await status('kept', secret)).toBe(200)
    expect(await actions()).toContain('client.update kept')
  })

  it('reports when people are asked for consent', async () => {
    const added = await clients(
      'add',
      '--client-id',
      'asking',
      '--consent',
      'required',
      '--redirect-uri',
      'https://a.example/cb',
    )
    expect(added.code).toBe(0)
    expect(await shown('asking')).toMatchObject({ consent: 'required' })
    expect((await clients('update', 'asking', '--consent', 'implicit')).code).toBe(0)
    expect(await shown('asking')).toMatchObject({ consent: 'implicit' })
    expect(await clients('update', 'asking', '--consent', 'never')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Allowed choices are required, remembered, implicit'),
    })
  })

  it('creates a secret for a client whose new method needs one, and removes it with the method', async () => {
    await addService('method')
    await cli.write(
      'public.json',
      JSON.stringify({ grant_types: ['authorization_code'], token_endpoint_auth_method: 'none' }),
    )
    const opened = await clients(
      'update',
      'method',
      '--file',
      'public.json',
      '--redirect-uri',
      'https://shop.example/cb',
    )
    expect(opened).toMatchObject({ code: 0, stdout: 'Updated method\n' })
    expect(await shown('method')).toMatchObject({ response_types: ['code'] })
    expect(await shown('method')).not.toHaveProperty('client_secret_sha256')
    const back = await clients(
      ...(['update', 'method', '--grant-type', 'client_credentials'] as const),
      ...['--auth-method', 'client_secret_basic', '--json'],
    )
    expect(await status('method', (JSON.parse(back.stdout) as { client_secret: string }).client_secret)).toBe(200)
  })

  it.each([
    ['teller', ['--name', 'x'], 'change it there, and reload'],
    ['nobody', ['--name', 'x'], 'There is no such client'],
    ['refusing', [], 'nothing to change'],
    ['refusing', ['--scope', 'apis'], 'did you mean `api`'],
    ['refusing', ['--file', 'secret.json'], 'rotate-secret'],
    ['refusing', ['--file', 'id.json'], 'The id of a client cannot be changed'],
  ])('refuses a change of %s by %j', async (id, args, reason) => {
    const refused = await clients('update', id, ...args)
    expect(refused).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining(reason) })
  })

  it('rotates a secret, at once or with an overlap in which both are valid', async () => {
    const first = await addService('rotated')
    const rotate = async (...more: string[]) => {
      const { code, stdout } = await clients('rotate-secret', 'rotated', '--json', ...more)
      expect(code).toBe(0)
      return JSON.parse(stdout) as { client_secret: string; old_secret_valid_until?: string }
    }
    const second = await rotate()
    expect(second).not.toHaveProperty('old_secret_valid_until')
    expect([await status('rotated', first), await status('rotated', second.client_secret)]).toEqual([401, 200])

    const third = await rotate('--overlap', '1h')
    expect(Date.parse(third.old_secret_valid_until ?? '')).toBeGreaterThan(Date.now())
    expect(await status('rotated', second.client_secret)).toBe(200)
    expect(await status('rotated', third.client_secret)).toBe(200)
    expect(await status('rotated', first)).toBe(401)
    expect((await clients('update', 'rotated', '--name', 'Rotated')).code).toBe(0)
    expect(await status('rotated', second.client_secret)).toBe(200)
    const hidden = await clients('show', 'rotated')
    expect(hidden.stdout.match(/\[secret\]/g)).toHaveLength(2)

    // Without an overlap every earlier secret ends.
    const fourth = await rotate()
    const answers = [second, third, fourth].map(({ client_secret }) => status('rotated', client_secret))
    expect(await Promise.all(answers)).toEqual([401, 401, 200])
    await clients('add', '--client-id', 'public', '--auth-method', 'none', '--redirect-uri', 'https://shop.example/cb')
    expect(await actions()).toContain('client.rotate_secret rotated')
    expect(await clients('rotate-secret', 'teller')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('reload'),
    })
  })

  it('ends an overlap no later than the old secret would have expired', async () => {
    const end = Math.floor(Date.now() / 1000) + 3600
    await cli.write('expiring.json', JSON.stringify({ client_secret_expires_at: end }))
    const like = ['--grant-type', 'client_credentials', '--file', 'expiring.json']
    expect((await clients('add', '--client-id', 'expiring', ...like)).code).toBe(0)
    const { stdout } = await clients('rotate-secret', 'expiring', '--overlap', '24h', '--json')
    expect(JSON.parse(stdout)).toMatchObject({ old_secret_valid_until: isoTime(end * 1000) })
    expect(await shown('expiring')).not.toHaveProperty('client_secret_expires_at')
  })

  it('explains how a client without a secret gets one', async () => {
    const refusal = async (id: string) => {
      const { code, stdout, stderr } = await clients('rotate-secret', id)
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
      return stderr
    }
    const advice = 'To give it one: signet clients update --auth-method client_secret_basic\n'
    expect(await refusal('public')).toBe(`This client has no secret: its method is none. ${advice}`)
    await using backend = await openEmbedded({ path: join(cli.folder, 'data', 'store'), clock: Date.now })
    const found = Object.entries((await collectionsOf(backend).clients.find('public'))!)
    const bare = Object.fromEntries(
      found.filter(([name]) => name !== 'token_endpoint_auth_method'),
    ) as unknown as Client
    await collectionsOf(backend).clients.put('bare', { ...bare, client_id: 'bare' })
    expect(await refusal('bare')).toBe(`This client has no secret. ${advice}`)
  })

  it('disables a client everywhere at once, and enables it again', async () => {
    const secret = await addService('closed')
    const token = ((await (await requestToken(service, 'closed', secret)).json()) as { access_token: string })
      .access_token
    const introspect = async (id: string, password: string) => {
      const response = await fetch(new URL('/introspect', service.public), {
        method: 'POST',
        headers: { authorization: `Basic ${btoa(`${id}:${password}`)}` },
        body: new URLSearchParams({ token }),
      })
      return response.status === 200 ? ((await response.json()) as { active: boolean }).active : response.status
    }
    const authorize = async () => {
      const redirect_uri = 'https://shop.example/cb'
      const query = new URLSearchParams({ client_id: 'page', redirect_uri, response_type: 'code', scope: 'openid' })
      const response = await fetch(new URL(`/authorize?${String(query)}`, service.public), { redirect: 'manual' })
      return { status: response.status, unknown: (await response.text()).includes('The client is unknown.') }
    }
    await clients('add', '--client-id', 'page', '--auth-method', 'none', '--redirect-uri', 'https://shop.example/cb')
    expect((await authorize()).unknown).toBe(false)
    expect(await introspect('closed', secret)).toBe(true)

    expect(await clients('disable', 'closed')).toMatchObject({ code: 0, stdout: 'Disabled closed\n' })
    expect((await clients('disable', 'page', '--json')).stdout).toContain('"disabled"')
    expect(await status('closed', secret)).toBe(401)
    expect(await introspect('closed', secret)).toBe(401)
    expect(await authorize()).toEqual({ status: 400, unknown: true })
    expect((await clients('list')).stdout).toMatch(/^closed .* disabled /m)

    expect(await clients('enable', 'closed')).toMatchObject({ code: 0, stdout: 'Enabled closed\n' })
    expect(await status('closed', secret)).toBe(200)
    expect(await clients('disable', 'nobody')).toMatchObject({
      code: 1,
      stderr: 'There is no such client in the store.\n',
    })
    expect(await actions()).toEqual(expect.arrayContaining(['client.disable closed', 'client.enable closed']))
  })
})
