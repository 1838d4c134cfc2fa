import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { person, startServer, webClient, type TestServer } from '../support/server/server.js'
import { describeWith } from '../support/services/describe-with.js'
import { openSite, type Site } from '../support/server/site.js'

describeWith('chromium', 'a form that another site posts to /authorize', (executablePath) => {
  let browser: Browser
  let server: TestServer
  let other: Site

  const callback = (): string => `${other.url}/cb`

  const parameters = (state: string) => ({
    ...{ client_id: 'web', redirect_uri: callback(), response_type: 'code', scope: 'openid', state },
    ...{ code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM', code_challenge_method: 'S256' },
  })

  beforeAll(async () => {
    browser = await chromium.launch({ executablePath })
    other = await openSite()
    const clients = [{ ...webClient, redirect_uris: [callback()] }]
    server = await startServer({ configure: (configuration) => ({ ...configuration, clients }) })
    const fields = Object.entries(parameters('posted')).map(
      ([name, value]) => `<input name="${name}" value="${value}">`,
    )
    other.answer = (_request, response) => {
      response.setHeader('content-type', 'text/html')
      response.end(
        `<form method="post" action="${server.issuer}/authorize">${fields.join('')}<button>Go</button></form>`,
      )
    }
  })
  afterAll(async () => {
    await browser.close()
    await other[Symbol.asyncDispose]()
    await server[Symbol.asyncDispose]()
  })

  /** The other site by its name, which makes it another site than the issuer: that has an address. */
  const postFromElsewhere = async (context: BrowserContext): Promise<Page> => {
    const page = await context.newPage()
    await page.goto(other.url.replace('127.0.0.1', 'localhost'))
    await page.click('button')
    await page.waitForSelector('#login-submit')
    return page
  }

  const signIn = async (page: Page): Promise<void> => {
    await page.fill('#username', person.username)
    await page.fill('#password', person.password)
    await page.click('#login-submit')
  }

  const finish = async (page: Page, state: string): Promise<void> => {
    await page.click('#consent-allow')
    await page.waitForURL(`${callback()}?**`)
    const answer = new URL(page.url()).searchParams
    expect([answer.has('code'), answer.get('state')]).toEqual([true, state])
  }

  it('HX01 leaves a sign-in in another tab as it was, and works itself', async () => {
    await using context = await browser.newContext()
    const first = await context.newPage()
    await first.goto(`${server.issuer}/authorize?${new URLSearchParams(parameters('first')).toString()}`)
    await first.waitForSelector('#login-submit')
    const cookies = await context.cookies()
    const second = await postFromElsewhere(context)
    expect(await context.cookies()).toEqual(cookies)
    await signIn(first)
    await finish(first, 'first')
    await signIn(second)
    await second.waitForURL(`${callback()}?**`)
    expect(new URL(second.url()).searchParams.get('state')).toBe('posted')
  })

  it('HX01 works in a browser that was never here', async () => {
    await using context = await browser.newContext()
    const page = await postFromElsewhere(context)
    await signIn(page)
    await page.waitForURL((url) => url.href.startsWith(callback()) || url.pathname.endsWith('/consent'))
    if (!page.url().startsWith(callback())) await page.click('#consent-allow')
    await page.waitForURL(`${callback()}?**`)
    expect(new URL(page.url()).searchParams.has('code')).toBe(true)
  })
})
