import { createHash, randomBytes } from 'node:crypto'
import { search } from '@jmespath-community/jmespath'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { UserAgent } from '../support/clients/user-agent.js'
import { openRecipe, person, subject, type Recipe } from '../support/recipes/recipe.js'
import { visit } from '../support/recipes/visit.js'

// Grafana is not run: this makes the requests that its generic OAuth makes, with the settings of the page and no others.

type Section = Readonly<Record<string, string>>

/** The sections of an ini file. */
const readIni = (text: string): Readonly<Record<string, Section>> =>
  Object.fromEntries(
    text.split(/^(?=\[)/m).map((part) => {
      const [, name = ''] = /^\[(.+)\]/.exec(part) ?? []
      return [name, Object.fromEntries([...part.matchAll(/^(\w+) = (.+)$/gm)].map(([, key, value]) => [key, value]))]
    }),
  )

describe('docs/recipes/grafana.md', () => {
  let recipe: Recipe
  let settings: Section
  let callback: string
  beforeAll(async () => {
    recipe = await openRecipe('grafana', ['grafana.yaml'], { config: 'grafana.yaml' })
    const { server, 'auth.generic_oauth': oauth } = readIni(recipe.block('grafana.ini'))
    settings = oauth ?? {}
    callback = `${server?.['root_url'] ?? ''}login/generic_oauth`
  })
  afterAll(() => recipe?.[Symbol.asyncDispose]())

  const setting = (name: string): string => settings[name] ?? `${name} is not set`

  /** The role, and the other attributes, that Grafana finds in an answer. */
  const attributesOf = (answer: object) =>
    Object.fromEntries(
      ['login', 'name', 'email', 'groups', 'role'].map((name) => [
        name,
        search(answer as never, setting(`${name}_attribute_path`)),
      ]),
    )

  const redeem = async (form: Record<string, string>) => {
    const secret = setting('client_secret').replace('$__env{CLIENT_SECRET}', recipe.secret)
    const response = await fetch(setting('token_url'), {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(`${setting('client_id')}:${secret}`)}` },
      body: new URLSearchParams(form),
    })
    expect(response.status).toBe(200)
    return (await response.json()) as Record<'access_token' | 'refresh_token' | 'id_token', string>
  }

  const userInfo = async (token: string) =>
    (await fetch(setting('api_url'), { headers: { authorization: `Bearer ${token}` } })).json()

  const signIn = async (browser: UserAgent) => {
    const verifier = randomBytes(96).toString('base64url')
    const state = randomBytes(32).toString('base64')
    const url = new URL(setting('auth_url'))
    url.search = new URLSearchParams({
      client_id: setting('client_id'),
      redirect_uri: callback,
      response_type: 'code',
      scope: setting('scopes'),
      state,
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
    }).toString()
    const left = await browser.authorize(url, person)
    expect(`${left.origin}${left.pathname}`).toBe(callback)
    expect(left.searchParams.get('state')).toBe(state)
    const code = left.searchParams.get('code') ?? ''
    return redeem({ grant_type: 'authorization_code', code, redirect_uri: callback, code_verifier: verifier })
  }

  it('names the endpoints of Signet', async () => {
    const discovered = (await (await fetch(`${recipe.issuer}/.well-known/openid-configuration`)).json()) as object
    const { origin, pathname } = new URL(setting('signout_redirect_url'))
    expect(discovered).toMatchObject({
      authorization_endpoint: setting('auth_url'),
      token_endpoint: setting('token_url'),
      userinfo_endpoint: setting('api_url'),
      end_session_endpoint: `${origin}${pathname}`,
    })
  })

  it('gives roles by the groups that Signet releases, now and after a refresh', async () => {
    const { access_token, refresh_token } = await signIn(new UserAgent())
    const answer = await userInfo(access_token)
    expect(answer).toEqual(recipe.answer)
    expect(attributesOf(answer)).toEqual({
      ...{ login: 'alice@example.com', name: 'Alice Adams', email: 'alice@example.com' },
      ...{ groups: ['grafana-editor'], role: 'Editor' },
    })
    const next = await redeem({ grant_type: 'refresh_token', refresh_token })
    expect(await userInfo(next.access_token)).toEqual(answer)
    expect(attributesOf({ ...answer, groups: ['grafana-admin', 'grafana-editor'] })).toMatchObject({ role: 'Admin' })
    expect(attributesOf({ ...answer, groups: undefined })).toMatchObject({ role: 'Viewer' })
  })

  it('leads from the sign-out of Grafana back to its login page', async () => {
    const browser = new UserAgent()
    const { id_token } = await signIn(browser)
    const url = new URL(setting('signout_redirect_url'))
    url.searchParams.set('id_token_hint', id_token)
    const { left } = await browser.follow(url)
    expect(left?.href).toBe(`${recipe.origin}/login`)
    const again = await visit(browser, `${recipe.issuer}/account`)
    expect(again.text).toContain('login-submit')
    expect((await recipe.events('session.ended')).at(-1)).toMatchObject({ sub: subject })
  })
})
