import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { chromium, type Browser, type Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { packageRoot } from '../../core/package-root.js'
import { freePort } from '../support/free-port.js'
import { testCertificate } from '../support/server/certificate.js'
import { person, publicClient, startServer, subject, webClient, type TestServer } from '../support/server/server.js'
import { describeWith } from '../support/services/describe-with.js'
import { recipes } from '../support/services/recipes.js'

// Libraries that docs/relying-parties.md names, unmodified and with their defaults, which nobody here has among the dependencies.

const packages = recipes.libraries.folder

/** What both libraries verify, and nothing else. */
const withRs256 = (written: Record<string, unknown>) => ({
  ...written,
  id_token_signing_alg: 'RS256',
  access_token_signing_alg: 'ES256',
  keys: [...(written['keys'] as object[]), { kid: 'rs256', alg: 'RS256', signer: 'local', ref: 'rs256.pem' }],
})

describeWith(['chromium', 'libraries recipe'], 'unmodified client libraries', (executablePath) => {
  let browser: Browser
  const page = createServer((_, response) => response.setHeader('content-type', 'text/html').end('<title>App</title>'))
  let server: TestServer
  let app: string
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath })
    await once(page.listen(0, '127.0.0.1'), 'listening')
    app = `http://127.0.0.1:${String((page.address() as AddressInfo).port)}/`
    server = await startServer({
      configure: (written) => ({ ...withRs256(written), clients: [{ ...publicClient, redirect_uris: [app] }] }),
    })
  })
  afterAll(async () => {
    await browser?.close()
    page.close()
    await server?.[Symbol.asyncDispose]()
  })

  const signIn = async (tab: Page) => {
    await tab.fill('#username', person.username)
    await tab.fill('#password', person.password)
    await tab.click('#login-submit')
    await tab.click('#consent-allow')
  }

  it('okta-auth-js signs in from a page of another origin', async () => {
    const script = await readFile(join(packages, 'node_modules/@okta/okta-auth-js/dist/okta-auth-js.min.js'), 'utf8')
    const tab = await browser.newPage()
    const options = {
      ...{ issuer: server.issuer, clientId: publicClient.client_id, redirectUri: app, scopes: ['openid', 'email'] },
      // It makes its own addresses of the issuer, unless they are set.
      authorizeUrl: `${server.issuer}/authorize`,
      tokenUrl: `${server.issuer}/token`,
      userinfoUrl: `${server.issuer}/userinfo`,
    }
    const okta = `new OktaAuth(${JSON.stringify(options)})`
    await tab.goto(app)
    await tab.addScriptTag({ content: script })
    // The page is left in the middle of the call.
    await Promise.all([tab.waitForURL(`${server.issuer}/**`), tab.evaluate(`void ${okta}.token.getWithRedirect()`)])
    await signIn(tab)
    await tab.waitForURL(`${app}**`)
    await tab.addScriptTag({ content: script })
    const claims = await tab.evaluate(`${okta}.token.parseFromUrl().then(({ tokens }) => tokens.idToken.claims)`)
    expect(claims).toMatchObject({ sub: subject, iss: server.issuer })
    await tab.close()
  })

  it('MSAL for Node signs in over https', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'signet-msal-'))
    const authority = join(folder, 'cert.pem')
    await writeFile(authority, testCertificate.cert)
    const port = await freePort()
    const issuer = `https://localhost:${String(port)}`
    const redirect = `${app}cb`
    await using secure = await startServer({
      configure: (written) => ({
        ...withRs256(written),
        issuer,
        listen: { host: '127.0.0.1', port, tls: { cert: testCertificate.cert, key: testCertificate.key } },
        clients: [{ ...webClient, redirect_uris: [redirect] }],
      }),
    })
    const program = join(packageRoot, 'test/support/recipes/libraries/msal.mjs')
    const args = [program, packages, secure.issuer, webClient.client_id, webClient.client_secret, redirect]
    const env = { ...process.env, NODE_EXTRA_CA_CERTS: authority }
    const child = spawn(process.execPath, args, { env, stdio: ['pipe', 'pipe', 'inherit'] })
    const closed = once(child, 'close')
    try {
      const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
      const next = async (): Promise<string> => String((await lines.next()).value)
      await using context = await browser.newContext({ ignoreHTTPSErrors: true })
      const tab = await context.newPage()
      await tab.goto(await next())
      await signIn(tab)
      await tab.waitForURL(`${redirect}**`)
      child.stdin.write(`${new URL(tab.url()).searchParams.get('code') ?? ''}\n`)
      expect(JSON.parse(await next())).toMatchObject({ sub: subject, iss: issuer })
    } finally {
      child.kill()
      await closed
      await rm(folder, { recursive: true })
    }
  })
})
