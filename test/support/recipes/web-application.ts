import { afterAll, beforeAll, expect, it } from 'vitest'
import { UserAgent } from '../clients/user-agent.js'
import type { RecipeName } from '../services/recipes.js'
import { openRecipe, person, subject, type Recipe } from './recipe.js'
import { visit } from './visit.js'
import { describeWith } from '../services/describe-with.js'

/**
 * What holds for every web application with a session of its own: `/` says who is signed in, `/login` and `/logout` lead to
 * Signet, `/me` answers as `/userinfo` does, `/backchannel-logout` takes logout tokens. `started` is what it prints.
 */
export const describeWebApplication = (
  name: RecipeName,
  files: readonly string[],
  started: string,
  options?: Parameters<typeof openRecipe>[2],
): void =>
  describeWith(`${name} recipe`, `docs/recipes/${name}.md`, () => {
    let recipe: Recipe
    const browser = new UserAgent()
    const signIn = (by = browser) => visit(by, `${recipe.origin}/login`, person)
    beforeAll(async () => {
      recipe = await openRecipe(name, files, options)
      await recipe.start(started)
    })
    afterAll(() => recipe?.[Symbol.asyncDispose]())

    it('handles a denial', async () => {
      const denied = await visit(browser, `${recipe.origin}/login`, { ...person, decision: 'deny' })
      expect(denied).toMatchObject({ status: 403, text: expect.stringContaining('You did not allow access') })
      expect((await visit(browser, recipe.origin)).text).toContain('Not signed in')
    })

    it('signs in, and calls /userinfo with a token that it renews', async () => {
      expect((await signIn()).text).toContain(`Signed in as ${subject}`)
      const grants = async () => (await recipe.events('token.issued')).map(({ grant_type }) => grant_type)
      expect(JSON.parse((await visit(browser, `${recipe.origin}/me`)).text)).toEqual(recipe.answer)
      // Auth.js renews for its pages, too.
      await expect.poll(grants).toEqual(expect.arrayContaining(['authorization_code', 'refresh_token']))
    })

    it('begins a new sign-in for a callback with a state that it does not know', async () => {
      const saved = await new UserAgent().fetch(`${recipe.origin}/callback?code=saved&state=saved&iss=${recipe.issuer}`)
      expect([saved.status, saved.headers.get('location')]).toEqual([302, '/login'])
    })

    it('is notified when the session ends elsewhere', async () => {
      const other = new UserAgent()
      expect((await signIn(other)).text).toContain('Signed in')
      const end = `npx signet-idp sessions end --sub ${subject} --config laptop.yaml`
      expect(await recipe.shell(end)).toContain('2')
      for (const one of [browser, other])
        await expect.poll(async () => (await visit(one, recipe.origin)).text).toContain('Not signed in')
      expect(await recipe.events('logout.undelivered')).toEqual([])
    })

    it('signs in again when the grant is over', async () => {
      await signIn()
      await recipe.shell(`npx signet-idp grants revoke --sub ${subject} --config laptop.yaml`)
      const { way, text } = await visit(browser, `${recipe.origin}/me`, person)
      expect(way).toContain(`${recipe.issuer}/authorize`)
      expect(text).toContain(`Signed in as ${subject}`)
    })

    it('signs out of both, and takes no ID token for a logout token', async () => {
      await signIn()
      const leaving = new URL((await browser.fetch(`${recipe.origin}/logout`)).headers.get('location') ?? '')
      const out = await visit(browser, leaving)
      expect(out.way).toContain(`${recipe.issuer}/logout`)
      expect(out.text).toContain('Not signed in')
      expect((await visit(browser, `${recipe.origin}/login`)).text).toContain('login-submit')
      const tokens = [leaving.searchParams.get('id_token_hint') ?? '', 'x', '']
      for (const logout_token of tokens) {
        const body = new URLSearchParams({ logout_token })
        expect((await fetch(`${recipe.origin}/backchannel-logout`, { method: 'POST', body })).status).toBe(400)
      }
    })
  })
