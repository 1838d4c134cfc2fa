import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { UserAgent } from '../support/clients/user-agent.js'
import { openRecipe, person, type Recipe } from '../support/recipes/recipe.js'
import { visit, type Person } from '../support/recipes/visit.js'
import { describeWith } from '../support/services/describe-with.js'

describeWith('oauth2-proxy recipe', 'docs/recipes/oauth2-proxy.md', () => {
  let recipe: Recipe
  let site: Server
  const browser = new UserAgent()
  const signIn = (by: UserAgent, who: Person = person) => visit(by, `${recipe.origin}/oauth2/start?rd=/`, who)
  /** The headers that the site got. */
  const headers = async () => JSON.parse((await visit(browser, recipe.origin)).text) as Record<string, string>

  beforeAll(async () => {
    recipe = await openRecipe('oauth2-proxy', ['oauth2-proxy.cfg'])
    // What the page says is longer than a test should take.
    const config = recipe.block('oauth2-proxy.cfg').replace('cookie_refresh = "4m"', 'cookie_refresh = "1s"')
    await writeFile(join(recipe.folder, 'oauth2-proxy.cfg'), config)
    site = createServer((request, response) => response.end(JSON.stringify(request.headers)))
    await once(site.listen(Number(new URL(recipe.api).port), '127.0.0.1'), 'listening')
    await recipe.start('Cookie settings')
    await vi.waitFor(() => fetch(`${recipe.origin}/ping`), { timeout: 10_000 })
  })
  afterAll(async () => {
    await recipe?.[Symbol.asyncDispose]()
    site?.close()
  })

  it('lets nobody through who is not signed in, denies access, or has an email that is not verified', async () => {
    expect((await visit(browser, recipe.origin)).status).toBe(403)
    expect((await signIn(browser, { ...person, decision: 'deny' })).status).toBe(403)
    expect((await signIn(new UserAgent(), { ...person, username: 'bob' })).status).toBe(403)
    expect(recipe.output()).toContain("isn't verified")
    expect((await visit(browser, recipe.origin)).status).toBe(403)
  })

  it('signs in, passes who it is, and renews its tokens', async () => {
    expect((await signIn(browser)).status).toBe(200)
    const first = await headers()
    expect(first).toMatchObject(recipe.answer as object)
    await expect
      .poll(async () => (await headers())['x-forwarded-access-token'])
      .not.toBe(first['x-forwarded-access-token'])
    expect((await recipe.events('token.issued')).at(-1)).toMatchObject({ grant_type: 'refresh_token' })
  })

  it('leads to the sign-in when the grant is over', async () => {
    await recipe.shell('npx signet-idp grants revoke --sub 248289761001 --config laptop.yaml')
    await expect.poll(async () => (await visit(browser, recipe.origin)).status).toBe(403)
  })

  it('signs out of both', async () => {
    await signIn(browser)
    const [, href = ''] = /href="([^"]+)"/.exec(recipe.block('sign-out.html')) ?? []
    const out = await visit(browser, `${recipe.origin}${href}`)
    expect(out.way).toContain(`${recipe.issuer}/logout`)
    expect(out).toMatchObject({ status: 403, url: new URL(`${recipe.origin}/`) })
    expect((await visit(browser, `${recipe.origin}/oauth2/start?rd=/`)).text).toContain('login-submit')
  })
})
