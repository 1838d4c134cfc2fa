import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { chromium, type Browser, type Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { runExample, type RunningExample } from '../support/server/run-example.js'
import { describeWith } from '../support/services/describe-with.js'

describeWith('chromium', 'sign-in without JavaScript', (executablePath) => {
  let example: RunningExample
  let browser: Browser
  let link: string
  const bob = { username: 'bob', password: 'a long enough password' }

  beforeAll(async () => {
    const people = `accounts: [{ username: ${bob.username}, password: ${bob.password}, sub: employee-8 }]\n`
    example = await runExample('handoff', (file, text) =>
      file === 'signet.yaml'
        ? people + text.replace('clients:\n', '  - use: plugins/login/password\nclients:\n')
        : text,
    )
    browser = await chromium.launch({ executablePath })
    link = /<(http.+)>/.exec(await readFile(join(example.folder, 'README.md'), 'utf8'))?.[1] ?? ''
  }, 120_000)
  afterAll(async () => {
    await browser?.close()
    await example?.[Symbol.asyncDispose]()
  })

  /** From the link of the application, without cookies. */
  const open = async (work: (page: Page) => Promise<void>): Promise<void> => {
    await using context = await browser.newContext({ javaScriptEnabled: false, locale: 'en-GB' })
    const page = await context.newPage()
    await page.goto(link)
    await work(page)
  }

  const allow = async (page: Page): Promise<void> => {
    await page.click('#consent-allow')
    expect(page.url()).toMatch(/\/signed-in\?code=[\w-]{20,}/)
    expect(await page.innerText('body')).toContain('Signed in.')
  }

  it('hands people off to the service of the organisation and back, from the link to the code', () =>
    open(async (page) => {
      await page.getByRole('button', { name: 'Company account' }).click()
      expect(new URL(page.url()).origin).toBe(example.other)
      expect(await page.innerText('h1')).toBe('Sign in to Phone book')
      const signIn = async (password: string) => {
        await page.getByLabel('Name').fill('alice')
        await page.getByLabel('Password').fill(password)
        await page.getByRole('button', { name: 'Sign in' }).click()
      }
      await signIn('wrong')
      expect(await page.innerText('p[role=alert]')).toBe('The name or the password is wrong.')
      await signIn('correct horse')
      expect(new URL(page.url()).origin).toBe(example.issuer)
      expect(await page.innerText('body')).toContain('Alice Adams')
      await allow(page)
    }))

  it('reports that the service refused, and lets people start over', () =>
    open(async (page) => {
      await page.getByRole('button', { name: 'Company account' }).click()
      const signInPage = page.url()
      await page.getByRole('button', { name: 'Cancel' }).click()
      expect(new URL(page.url()).origin).toBe(example.issuer)
      expect(await page.locator('[role=alert]').innerText()).not.toBe('')
      // The service has answered this one.
      await page.goto(signInPage)
      await page.getByRole('button', { name: 'Cancel' }).click()
      expect(await page.innerText('body')).toContain('This sign-in is over')
      await page.goto(link)
      await page.getByRole('button', { name: 'Company account' }).click()
      expect(new URL(page.url()).origin).toBe(example.other)
    }))

  it('accepts a password', () =>
    open(async (page) => {
      await page.click('#method-password')
      const signIn = async (password: string) => {
        await page.fill('#username', bob.username)
        await page.fill('#password', password)
        await page.click('#login-submit')
      }
      await signIn('wrong')
      expect(await page.innerText('#problem')).not.toBe('')
      await signIn(bob.password)
      await allow(page)
    }))
})
