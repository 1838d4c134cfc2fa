import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { api, basic, clients } from '../support/clients/clients.js'
import { disposeAfterAll } from '../support/dispose-after-all.js'
import { serviceClient, subject, webClient } from '../support/server/server.js'
import { postForm, startTokenServer, type TokenServer } from '../support/server/token-server.js'
import { describeWith } from '../support/services/describe-with.js'
import { recipes } from '../support/services/recipes.js'

// Spring Boot's opaque-token starter as it is: three settings, and no code for security.

const apiServer = { ...serviceClient, client_id: 'orders', introspection_audiences: [api] }

describeWith('spring-opaque recipe', "Spring's opaque tokens", () => {
  const keep = disposeAfterAll()
  let host: TokenServer
  let application: ChildProcess
  let origin: string
  beforeAll(async () => {
    const configure = (written: Record<string, unknown>) => ({ ...written, clients: [...clients, apiServer] })
    host = keep(await startTokenServer({ configure }))
    const settings = {
      'introspection-uri': `${host.server.issuer}/introspect`,
      'client-id': apiServer.client_id,
      'client-secret': apiServer.client_secret,
    }
    const prefix = '--spring.security.oauth2.resourceserver.opaquetoken'
    const given = Object.entries(settings).map(([name, value]) => `${prefix}.${name}=${value}`)
    const jar = join(recipes['spring-opaque'].folder, 'target/api.jar')
    const started = spawn('java', ['-jar', jar, '--server.port=0', ...given], { stdio: ['ignore', 'pipe', 'inherit'] })
    application = started
    let output = ''
    for await (const chunk of started.stdout) {
      output += String(chunk)
      if (output.includes('Started Api')) break
    }
    const [, port] = /Tomcat started on port (\d+)/.exec(output) ?? []
    expect(port, output).toBeDefined()
    origin = `http://127.0.0.1:${port ?? ''}`
  })
  afterAll(async () => {
    if (application === undefined || application.exitCode !== null) return
    const ended = once(application, 'exit')
    application.kill()
    await ended
  })

  const issue = async (resource: string): Promise<string> => {
    const { code } = await host.mint.code({
      clientId: webClient.client_id,
      resource: [resource],
      scope: ['openid', 'read'],
    })
    const { status, body } = await host.redeem(code, {}, webClient)
    expect(status).toBe(200)
    return String(body['access_token'])
  }
  const call = async (token?: string) => {
    const response = await fetch(origin, token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } })
    return { status: response.status, body: await response.text() }
  }

  it('knows the person and the scopes of a token for this API, and refuses others', async () => {
    expect((await call()).status).toBe(401)
    const { status, body } = await call(await issue(api))
    expect(status).toBe(200)
    const { name, authorities } = JSON.parse(body) as Record<string, string>
    expect(name).toBe(subject)
    expect(authorities).toContain('SCOPE_read')
    expect((await call(await issue('https://ledger.example'))).status).toBe(401)
    expect((await call('not-a-token')).status).toBe(401)
  })

  it('refuses a revoked token at the next call', async () => {
    const token = await issue(api)
    expect((await call(token)).status).toBe(200)
    const revoked = await postForm(`${host.server.issuer}/revoke`, { token }, { authorization: basic(webClient) })
    expect(revoked.status).toBe(200)
    expect((await call(token)).status).toBe(401)
  })
})
