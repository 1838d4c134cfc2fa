import { chromium } from 'playwright-core'
import { expect, it } from 'vitest'
import { startOperatorServer } from '../support/server/operator-server.js'
import { passkeyAuthenticator } from '../support/server/passkey-server.js'
import { describeWith } from '../support/services/describe-with.js'

describeWith('chromium', 'an operator in Chromium', (executablePath) => {
  it('comes by a link, adds a passkey, signs in with it, and approves a client with it', async () => {
    await using server = await startOperatorServer({
      configure: (written) => ({ ...written, dual_control: { clients: 1 } }),
    })
    const ask = await server.as('operator')
    await ask('/operators', { method: 'POST', body: { name: 'ada', roles: ['operator'] } })
    const { body: link } = await ask('/operators/ada/links', { method: 'POST' })
    const body = { client_id: 'shop', client_name: 'Shop', grant_types: ['client_credentials'] }
    const { body: waiting } = await ask('/clients', { method: 'POST', body })
    const base = server.admin.replace('127.0.0.1', 'localhost')

    const browser = await chromium.launch({ executablePath })
    try {
      const page = await (await browser.newContext({ locale: 'en-GB' })).newPage()
      const complaints: string[] = []
      page.on('pageerror', (error) => complaints.push(error.message))
      const protocol = await page.context().newCDPSession(page)
      await protocol.send('WebAuthn.enable')
      await protocol.send('WebAuthn.addVirtualAuthenticator', { options: passkeyAuthenticator })

      await page.goto(`${base}${link.path}`)
      await page.click('main form button')
      await page.waitForURL(`${base}/console`)
      await page.goto(`${base}/console/credentials`)
      await page.fill('#passkey-name', 'Laptop')
      await page.click('#passkey-add')
      await page.waitForURL(/notice=passkey_added/)
      await page.click('header form button')
      await page.waitForURL(`${base}/console/sign-in`)
      await page.click('form[data-ceremony] button.method')
      await page.waitForURL(`${base}/console`)

      await page.goto(`${base}/console/approvals/${waiting.approval}`)
      await page.click('form[data-ceremony] button.method')
      await page.waitForURL(/notice=approval_done/)
      expect((await ask('/clients/shop')).status).toBe(200)
      expect(complaints).toEqual([])
    } finally {
      await browser.close()
    }
  })
})
