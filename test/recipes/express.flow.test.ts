import { afterAll, beforeAll, expect, it } from 'vitest'
import { UserAgent } from '../support/clients/user-agent.js'
import { openRecipe, person, subject, type Recipe } from '../support/recipes/recipe.js'
import { visit } from '../support/recipes/visit.js'
import { describeWith } from '../support/services/describe-with.js'

describeWith('express recipe', 'docs/recipes/express.md', () => {
  let recipe: Recipe
  const browser = new UserAgent()
  beforeAll(async () => {
    recipe = await openRecipe('express', ['app.mjs'])
    await recipe.start('The application:')
  })
  afterAll(() => recipe?.[Symbol.asyncDispose]())

  it('signs in, and calls /userinfo with a token that it renews', async () => {
    expect((await visit(browser, recipe.origin)).text).toContain('Not signed in')
    const { text } = await visit(browser, `${recipe.origin}/login`, person)
    expect(text).toContain(`Signed in as ${subject}`)
    const grants = async () => (await recipe.events('token.issued')).map(({ grant_type }) => grant_type)
    await expect.poll(grants).toEqual(['authorization_code'])
    expect(JSON.parse((await visit(browser, `${recipe.origin}/me`)).text)).toEqual(recipe.answer)
    await expect.poll(grants).toEqual(['authorization_code', 'refresh_token'])
  })

  it('is told when the session ends elsewhere', async () => {
    const other = new UserAgent()
    expect((await visit(other, `${recipe.origin}/login`, person)).text).toContain('Signed in')
    await recipe.shell(`npx signet-idp sessions end --sub ${subject} --config laptop.yaml`)
    await expect.poll(async () => (await visit(other, recipe.origin)).text).toContain('Not signed in')
  })

  it('signs out of both', async () => {
    await visit(browser, `${recipe.origin}/login`, person)
    const out = await visit(browser, `${recipe.origin}/logout`)
    expect(out.way).toContain(`${recipe.issuer}/logout`)
    expect(out.text).toContain('Not signed in')
    expect((await visit(browser, `${recipe.origin}/login`)).text).toContain('login-submit')
  })
})
