import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { chromium, type Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { authorizeUrl } from '../support/forge/mint.js'
import { startServer, webClient, type TestServer } from '../support/server/server.js'
import { describeWith } from '../support/services/describe-with.js'

const picture = '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40"><path d="M0 0h40v40H0z"/></svg>'

describeWith('chromium', 'a logo in a browser', (executablePath) => {
  let browser: Browser
  let servers: Server[]
  let server: TestServer
  const asked: string[] = []
  const originOf = (at: number) => `http://127.0.0.1:${String((servers[at]?.address() as AddressInfo).port)}`

  beforeAll(async () => {
    servers = ['pictures', 'elsewhere'].map((name) =>
      createServer(({ url }, response) => {
        asked.push(`${name}${String(url)}`)
        if (url === '/moved.svg') response.writeHead(302, { location: `${originOf(1)}/logo.svg` }).end()
        else response.writeHead(200, { 'content-type': 'image/svg+xml' }).end(picture)
      }),
    )
    for (const one of servers) await new Promise<void>((listening) => one.listen(0, '127.0.0.1', listening))
    server = await startServer({
      configure: (written) => ({
        ...written,
        clients: ['logo', 'moved'].map((client_id) => ({
          ...webClient,
          client_id,
          logo_uri: `${originOf(0)}/${client_id}.svg`,
        })),
      }),
    })
    browser = await chromium.launch({ executablePath })
  })
  afterAll(async () => {
    await browser.close()
    await server[Symbol.asyncDispose]()
    for (const one of servers) {
      one.closeAllConnections()
      await new Promise((closed) => one.close(closed))
    }
  })

  const show = async (client_id: string) => {
    await using context = await browser.newContext()
    const page = await context.newPage()
    const complaints: string[] = []
    page.on('console', (message) => complaints.push(message.text()))
    await page.goto(authorizeUrl(server.issuer, { client_id }), { waitUntil: 'load' })
    const width = await page.$eval('.client-logo img', (image) => (image as HTMLImageElement).naturalWidth)
    return { width, complaints: complaints.join('\n') }
  }

  it('PG01 is shown from its own origin, and asks no other, not even by a redirect', async () => {
    expect(await show('logo')).toEqual({ width: 40, complaints: '' })
    const moved = await show('moved')
    expect(moved.width).toBe(0)
    expect(moved.complaints).toContain('Content Security Policy')
    expect([...new Set(asked)]).toEqual(['pictures/logo.svg', 'pictures/moved.svg'])
  })
})
