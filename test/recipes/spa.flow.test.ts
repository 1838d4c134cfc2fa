import { chromium, type Browser, type Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openRecipe, person, subject, type Recipe } from '../support/recipes/recipe.js'
import { describeWith } from '../support/services/describe-with.js'

describeWith(['chromium', 'spa recipe'], 'docs/recipes/spa.md', (executablePath) => {
  let recipe: Recipe
  let browser: Browser
  let page: Page
  beforeAll(async () => {
    recipe = await openRecipe('spa', ['index.html', 'main.js'], { seconds: 300 })
    await recipe.start('Local:')
    browser = await chromium.launch({ executablePath })
    page = await browser.newPage()
  })
  afterAll(async () => {
    await browser?.close()
    await recipe?.[Symbol.asyncDispose]()
  })

  const says = (text: string) => page.locator('#person', { hasText: text }).waitFor()
  const signIn = async (decision: 'allow' | 'deny') => {
    await page.click('#sign-in')
    await page.locator('#login-submit, #consent-allow').waitFor()
    if (await page.locator('#login-submit').isVisible()) {
      await page.fill('[name=username]', person.username)
      await page.fill('[name=password]', person.password)
      await page.click('#login-submit')
    }
    await page.click(`#consent-${decision}`)
  }
  const answer = async () => {
    await page.locator('#answer', { hasText: /./ }).waitFor()
    return page.locator('#answer').textContent()
  }
  /** What the library keeps of the person. */
  const stored = () =>
    page.evaluate(() => {
      const [key = ''] = Object.keys(sessionStorage).filter((name) => name.startsWith('oidc.user:'))
      return { key, user: JSON.parse(sessionStorage.getItem(key) ?? '{}') as Record<string, unknown> }
    })

  it('handles a denial', async () => {
    await page.goto(recipe.origin)
    await says('Not signed in')
    await signIn('deny')
    await says('Not signed in')
    expect(await answer()).toBe('You did not allow access.')
  })

  it('signs in, and calls /userinfo with a token of its key', async () => {
    await signIn('allow')
    await says(`Signed in as ${subject}`)
    expect(page.url()).toBe(`${recipe.origin}/`)
    expect((await stored()).user['token_type']).toBe('DPoP')
    await page.click('#me')
    expect(JSON.parse((await answer()) ?? '')).toEqual(recipe.answer)
  })

  it('renews a token that is about to end, and replaces its refresh token', async () => {
    const before = await stored()
    await page.evaluate(
      ({ key, user }) =>
        sessionStorage.setItem(key, JSON.stringify({ ...user, expires_at: Math.floor(Date.now() / 1000) + 60 })),
      before,
    )
    await page.reload()
    await expect.poll(async () => (await stored()).user['refresh_token']).not.toBe(before.user['refresh_token'])
    await page.click('#me')
    expect(JSON.parse((await answer()) ?? '')).toEqual(recipe.answer)
  })

  it('signs out of both', async () => {
    await page.click('#sign-out')
    await says('Not signed in')
    expect((await stored()).user).toEqual({})
    await page.click('#sign-in')
    await page.locator('#login-submit').waitFor()
  })
})
