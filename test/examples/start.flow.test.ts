import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import { describe, expect, it } from 'vitest'
import { packageRoot } from '../../core/package-root.js'
import { runExample, type RunningExample } from '../support/server/run-example.js'
import { UserAgent } from '../support/clients/user-agent.js'
import { describeWith } from '../support/services/describe-with.js'
import type { ServiceName } from '../support/services/table.js'

// Each example, by its one command.

const secret = 'known-to-all-who-read-this-example'

const requestToken = ({ issuer }: RunningExample, client: string, form: Record<string, string>): Promise<Response> =>
  fetch(`${issuer}/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${client}:${secret}`)}` },
    body: new URLSearchParams(form),
  })

/** Header and claims of the access token of an answer, which a published key must verify. */
const verified = async ({ issuer }: RunningExample, response: Response) => {
  const { access_token } = (await response.json()) as { access_token: string }
  return jwtVerify(access_token, createRemoteJWKSet(new URL(`${issuer}/jwks.json`)), { issuer, typ: 'at+jwt' })
}

/** Of RFC 7636, Appendix B, whose challenge the pages have. */
const verifier = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'

/** A person signs in at the example's own service, which takes nothing but what Signet asked it, once. */
const handsOff = async ({ issuer, other, folder }: RunningExample): Promise<void> => {
  const [, link = ''] = /<(http.+)>/.exec(await readFile(join(folder, 'README.md'), 'utf8')) ?? []
  const agent = new UserAgent()
  const { left } = await agent.follow(link)
  expect(left?.origin).toBe(other)
  const request = left?.searchParams.get('request') ?? ''
  const show = (of: string) => fetch(`${other}/start?${new URLSearchParams({ request: of })}`)
  const [, action = left!.href] = /<form[^>]* action="([^"]+)"/.exec(await (await show(request)).text()) ?? []
  const [header, payload = '', signature] = request.split('.')
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as object
  const forged = Buffer.from(JSON.stringify({ ...claims, client_name: 'Another' })).toString('base64url')
  for (const wrong of ['', 'junk', `${header}.${forged}.${signature}`]) expect((await show(wrong)).status).toBe(400)
  const answer = (password: string) => {
    const body = new URLSearchParams({ request, username: 'alice', password })
    return fetch(new URL(action, other), { method: 'POST', body, redirect: 'manual' })
  }
  expect((await answer('wrong')).status).toBe(403)
  const answered = await answer('correct horse')
  const finish = answered.headers.get('location') ?? ''
  expect([answered.status, finish]).toEqual([303, expect.stringContaining(`${issuer}/sign-in/own/callback?`)])
  expect((await answer('correct horse')).status).toBe(400)
  // The browser that began knows all but the secret, and another browser has no cookie of the sign-in.
  const old = new URL(finish)
  old.searchParams.delete('answer')
  for (const [browser, url] of [
    [agent, old],
    [agent, `${old.href}&answer=${'A'.repeat(43)}`],
    [new UserAgent(), finish],
  ] as const) {
    expect((await browser.follow(url)).response.status).toBe(400)
    const { response } = await browser.follow(`${issuer}/account`)
    expect(await response.text()).not.toContain('Alice Adams')
  }
  const back = await agent.authorize(finish, { username: '', password: '' })
  const code = back.searchParams.get('code') ?? ''
  expect(code).not.toBe('')
  // By the same key, and not for this service (RFC 8725 §3.9, §3.11).
  const client = { client_id: 'app', redirect_uri: back.href.replace(/\?.*/, '') }
  const form = { grant_type: 'authorization_code', code, code_verifier: verifier, ...client }
  const given = await fetch(`${issuer}/token`, { method: 'POST', body: new URLSearchParams(form) })
  const { access_token } = (await given.json()) as { access_token: string }
  expect((await show(access_token)).status).toBe(400)
}

const runs: Readonly<Record<string, (example: RunningExample) => Promise<void>>> = {
  grant: async (example) => {
    const grant = { grant_type: 'urn:bank.example:grant:loan' }
    const refused = await requestToken(example, 'branch-7', { ...grant, loan: 'L-1002' })
    expect(await refused.json()).toMatchObject({ error: 'invalid_grant' })
    const given = await requestToken(example, 'branch-7', { ...grant, loan: 'L-1001' })
    expect((await verified(example, given)).payload).toMatchObject({ sub: 'L-1001', product: 'mortgage' })
    const { stdout } = await promisify(execFile)('npm', ['run', 'attack'], { cwd: example.folder })
    expect(stdout).toContain(' 0 findings')
  },

  'login-plugin': async ({ issuer, other, folder }) => {
    const [, link = ''] = /<(http.+)>/.exec(await readFile(join(folder, 'README.md'), 'utf8')) ?? []
    const agent = new UserAgent()
    const { response, url } = await agent.follow(link)
    expect(url.origin).toBe(issuer)
    const wrong = await agent.submit(url, await response.text(), { username: 'alice', password: 'wrong' })
    expect(wrong.response.status).toBe(403)
    const back = await new UserAgent().authorize(link, { username: 'alice', password: 'correct horse' })
    expect(back.port).toBe(new URL(other).port)
    expect(await (await fetch(back)).text()).toMatch(/^Signed in/)
  },

  handoff: handsOff,

  'handoff-spring': async (example) => {
    await example.printed('Started SignIn')
    await handsOff(example)
  },

  signer: async (example) => {
    const given = await requestToken(example, 'reports', { grant_type: 'client_credentials' })
    expect((await verified(example, given)).protectedHeader).toMatchObject({ kid: 'es-1' })
    for (const name of await readdir(join(example.folder, 'data/keys')))
      expect(await readFile(join(example.folder, 'data/keys', name), 'utf8')).toMatch(
        /^-----BEGIN ENCRYPTED PRIVATE KEY/,
      )
  },

  'storage-adapter': async (example) => {
    const given = await requestToken(example, 'reports', { grant_type: 'client_credentials' })
    expect((await verified(example, given)).payload).toMatchObject({ sub: 'reports' })
    expect(await readdir(join(example.folder, 'data/records'), { recursive: true })).not.toEqual([])
  },

  device: async (example) => {
    await example.printed('The same request again: replay_detected')
    expect(example.output()).toMatch(
      /Enrolled: ey[\s\S]*Renewed with the key alone: ey[\s\S]*Verified: \{[\s\S]*subject: 'alice'/,
    )
  },
}

/** What an example needs beside Node. */
const needs: Readonly<Record<string, ServiceName>> = { 'handoff-spring': 'handoff-spring recipe' }

const folders = readdirSync(join(packageRoot, 'examples'), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)

const serves = async (name: string): Promise<void> => {
  await using example = await runExample(name)
  await runs[name]!(example)
}

describe('npm start of', () => {
  it.each(folders.filter((name) => needs[name] === undefined))('examples/%s serves what its page shows', serves)

  for (const [name, service] of Object.entries(needs))
    describeWith(service, `examples/${name}`, () => {
      it('serves what its page shows', () => serves(name), 180_000)
    })
})
