import { expect, it, onTestFinished } from 'vitest'
import { packageVersion } from '../../core/package-root.js'
import { startServer } from '../support/server/server.js'

it('HX07 the page at / names neither product nor version', async () => {
  const server = await startServer()
  onTestFinished(() => server[Symbol.asyncDispose]())
  const response = await fetch(`${server.issuer}/`)
  expect(response.status).toBe(200)
  const html = await response.text()
  expect(html).toContain(`<code id="issuer">${server.issuer}</code>`)
  expect(html).toContain(`${server.issuer}/.well-known/openid-configuration`)
  // What a person reads; the style sheet and the icon are files of the product.
  const shown = html.replaceAll(/ (?:href|src)="[^"]*"/g, '')
  expect(shown).not.toMatch(/signet/i)
  expect(html).not.toContain(packageVersion)
})
