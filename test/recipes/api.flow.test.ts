import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { symlink } from 'node:fs/promises'
import { join } from 'node:path'
import * as oidc from 'openid-client'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { packageRoot } from '../../core/package-root.js'
import { UserAgent } from '../support/clients/user-agent.js'
import { codeBlock, readDocument } from '../support/document.js'
import { freePort } from '../support/free-port.js'
import { openCommandLine, type CommandLine } from '../support/server/command-line.js'

const page = 'docs/relying-parties.md'
const password = 'only-for-this-laptop'

describe('docs/relying-parties.md, an Express API that requires a role', () => {
  let cli: CommandLine
  let api: ChildProcess
  let audience: string
  let issuer: string
  beforeAll(async () => {
    cli = await openCommandLine()
    const ports = new Map([
      ['3000', String(await freePort())],
      ['8081', String(await freePort())],
    ])
    const placed = (text: string) => text.replaceAll(/\b(?:3000|8081)\b/g, (port) => ports.get(port) ?? port)
    issuer = placed('http://localhost:3000')
    audience = placed('http://localhost:8081/orders')
    await symlink(join(packageRoot, 'node_modules'), join(cli.folder, 'node_modules'))
    const laptop = placed(readDocument('config/examples/laptop.yaml'))
    await cli.write('laptop.yaml', `${laptop}\nadmin: { host: 127.0.0.1, port: 0 }\n`)
    for (const name of ['roles.yaml', 'api.mjs']) await cli.write(name, placed(codeBlock(page, name)))
    await cli.serve(['start', '--config', 'roles.yaml'])
    api = spawn(process.execPath, ['api.mjs'], { cwd: cli.folder, stdio: 'inherit' })
    await vi.waitFor(() => fetch(audience), { timeout: 10_000 })
  })
  afterAll(async () => {
    const ended = once(api, 'close')
    api.kill()
    await ended
    await cli[Symbol.asyncDispose]()
  })

  const insecure = { execute: [oidc.allowInsecureRequests] }
  const call = (token?: string) =>
    fetch(audience, { headers: token === undefined ? {} : { authorization: `Bearer ${token}` } })

  /** The access token of a person at the web shop, for a resource, or without one for the issuer. */
  const signIn = async (username: string, resource?: string): Promise<string> => {
    const client = await oidc.discovery(
      new URL(issuer),
      'web-shop',
      'only-for-this-laptop-the-web-shop',
      undefined,
      insecure,
    )
    const url = oidc.buildAuthorizationUrl(client, {
      redirect_uri: 'http://localhost:8080/callback',
      scope: 'openid orders:read',
      ...(resource !== undefined && { resource }),
    })
    const left = await new UserAgent().authorize(url, { username, password })
    return (await oidc.authorizationCodeGrant(client, left, { idTokenExpected: true })).access_token
  }

  it('serves a person who has the role', async () => {
    const response = await call(await signIn('alice', audience))
    expect(response.status).toBe(200)
    expect(await response.json()).toMatchObject({
      sub: '248289761001',
      client_id: 'web-shop',
      aud: audience,
      'https://shop.example/roles': ['shop-clerk'],
    })
  })

  it('refuses with 403 a client that is nobody in the shop', async () => {
    const secret = 'only-for-this-laptop-nightly-job'
    const job = await oidc.discovery(new URL(issuer), 'nightly-job', secret, undefined, insecure)
    const { access_token } = await oidc.clientCredentialsGrant(job, { resource: audience })
    expect((await call(access_token)).status).toBe(403)
  })

  it('refuses with 401 no token, what is none, and a token for somebody else', async () => {
    for (const token of [undefined, 'x', await signIn('alice')]) {
      const response = await call(token)
      expect(response.status).toBe(401)
      expect(response.headers.get('www-authenticate')).toMatch(/^Bearer/)
    }
  })
})
