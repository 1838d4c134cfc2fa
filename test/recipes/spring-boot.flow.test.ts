import { afterAll, beforeAll, expect, it } from 'vitest'
import { UserAgent } from '../support/clients/user-agent.js'
import { openRecipe, person, subject, type Recipe } from '../support/recipes/recipe.js'
import { visit } from '../support/recipes/visit.js'
import { describeWith } from '../support/services/describe-with.js'

describeWith('spring-boot recipe', 'docs/recipes/spring-boot.md', () => {
  let recipe: Recipe
  beforeAll(async () => {
    recipe = await openRecipe('spring-boot', ['application.yaml'])
    await recipe.start('Started Application')
  })
  afterAll(() => recipe?.[Symbol.asyncDispose]())

  const home = async (browser: UserAgent) => (await visit(browser, recipe.origin)).text

  it('signs in, and calls /userinfo with a token that it renews', async () => {
    const browser = new UserAgent()
    expect(await home(browser)).toContain('Not signed in')
    const { text } = await visit(browser, `${recipe.origin}/me`, person)
    expect(JSON.parse(text)).toEqual(recipe.answer)
    expect(await home(browser)).toContain(`Signed in as ${subject}`)
    const grants = async () => (await recipe.events('token.issued')).map(({ grant_type }) => grant_type)
    await expect.poll(grants).toEqual(['authorization_code', 'refresh_token'])
  })

  it('is notified when the session ends elsewhere, and only of that session', async () => {
    const [browser, other] = [new UserAgent(), new UserAgent()]
    await visit(browser, `${recipe.origin}/me`, person)
    await visit(other, `${recipe.origin}/me`, person)
    const sid = (await recipe.events('login.succeeded')).at(-2)?.['sid']
    await recipe.shell(`npx signet-idp sessions end --sub ${subject} --sid=${String(sid)} --config laptop.yaml`)
    await expect.poll(() => home(browser)).toContain('Not signed in')
    expect(await home(other)).toContain('Signed in')
  })

  it('signs out of both', async () => {
    const browser = new UserAgent()
    await visit(browser, `${recipe.origin}/me`, person)
    const [, csrf = ''] = /name="_csrf" value="([^"]+)"/.exec(await home(browser)) ?? []
    const body = new URLSearchParams({ _csrf: csrf })
    const left = await browser.fetch(`${recipe.origin}/logout`, { method: 'POST', body })
    const out = await visit(browser, left.headers.get('location') ?? '')
    expect(out.way[0]).toBe(`${recipe.issuer}/logout`)
    expect(out.text).toContain('Not signed in')
    expect((await visit(browser, `${recipe.origin}/me`)).text).toContain('login-submit')
  })
})
