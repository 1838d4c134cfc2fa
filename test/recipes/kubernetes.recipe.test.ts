import { spawn } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import * as oidc from 'openid-client'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { parse } from 'yaml'
import { mtlsFetch } from '../support/clients/mtls-fetch.js'
import { UserAgent } from '../support/clients/user-agent.js'
import { openRecipe, person, type Recipe } from '../support/recipes/recipe.js'
import { testCertificate } from '../support/server/certificate.js'
import { describeWith } from '../support/services/describe-with.js'

interface Kubeconfig {
  readonly users: readonly [{ readonly user: { readonly exec: { readonly args: readonly string[] } } }]
}

/** The configuration of a laptop behind https, where Alice has groups. */
const own = (laptop: string): string =>
  laptop
    .replace('issuer: http:', 'issuer: https:')
    .replace(/^listen: \{(.*)\}$/m, `listen: {$1, tls: ${JSON.stringify(testCertificate)} }`)
    .replace('name: Alice Adams,', 'name: Alice Adams, groups: [k8s-admin, accounting],')

describeWith('kubernetes recipe', 'docs/recipes/kubernetes.md', () => {
  let recipe: Recipe
  let issuer: string
  beforeAll(async () => {
    recipe = await openRecipe('kubernetes', ['kubernetes.yaml'], { config: 'kubernetes.yaml', own })
    issuer = recipe.issuer.replace('http:', 'https:')
    const placed = (name: string) => recipe.block(name).replaceAll('https://id.example.com', issuer)
    const authority = `certificateAuthority: |\n${testCertificate.cert.replaceAll(/^(?=.)/gm, ' '.repeat(8))}`
    const files = {
      'cert.pem': testCertificate.cert,
      'authentication.yaml': placed('authentication.yaml').replace('# certificateAuthority: |', authority),
      'kube-apiserver.flags': `${placed('kube-apiserver.flags')}--oidc-ca-file=cert.pem\n`,
    }
    for (const [name, content] of Object.entries(files)) await writeFile(join(recipe.folder, name), content)
    vi.stubGlobal('fetch', mtlsFetch())
  })
  afterAll(async () => {
    vi.unstubAllGlobals()
    await recipe?.[Symbol.asyncDispose]()
  })

  const client = async (id = 'kubernetes') => {
    const options = { [oidc.customFetch]: mtlsFetch() as oidc.CustomFetch }
    return oidc.discovery(new URL(issuer), id, undefined, oidc.None(), options)
  }

  /** What kubelogin does, by the arguments that the page gives it. */
  const signIn = async (username: string, configuration: oidc.Configuration) => {
    const [{ user }] = (parse(recipe.block('kubeconfig.yaml')) as Kubeconfig).users
    const scopes = user.exec.args.flatMap((argument) => /^--oidc-extra-scope=(.+)/.exec(argument)?.[1] ?? [])
    const redirect_uri = 'http://localhost:8000'
    const [state, code_verifier] = [oidc.randomState(), oidc.randomPKCECodeVerifier()]
    const url = oidc.buildAuthorizationUrl(configuration, {
      redirect_uri,
      scope: ['openid', ...scopes].join(' '),
      state,
      code_challenge: await oidc.calculatePKCECodeChallenge(code_verifier),
      code_challenge_method: 'S256',
    })
    const left = await new UserAgent().authorize(url, { ...person, username })
    expect(left.searchParams.get('state')).toBe(state)
    // `authorizationCodeGrant` would take the URI from a URL object, which puts a slash behind the port.
    return oidc.genericGrantRequest(configuration, 'authorization_code', {
      code: left.searchParams.get('code') ?? '',
      redirect_uri,
      code_verifier,
    })
  }

  /** Who the API server takes the bearers of tokens for. */
  const authenticate = async (by: string, tokens: readonly (string | undefined)[]) => {
    const child = spawn('./authenticate', [by], { cwd: recipe.folder, stdio: ['pipe', 'pipe', 'inherit'] })
    child.stdin.end(tokens.map((token) => `${token ?? ''}\n`).join(''))
    const lines = (await text(child.stdout)).trim().split('\n')
    return lines.map((line) => JSON.parse(line) as Record<string, unknown>)
  }

  it('knows people and their groups, after a refresh too, and by the older flags', async () => {
    const configuration = await client()
    const tokens = await signIn('alice', configuration)
    const next = await oidc.refreshTokenGrant(configuration, tokens.refresh_token ?? '')
    const asked = [tokens.id_token, next.id_token]
    expect(asked[0]).not.toBe(asked[1])
    expect(await authenticate('authentication.yaml', asked)).toEqual([recipe.answer, recipe.answer])
    const expected = { ...(recipe.answer as object), uid: '' }
    expect(await authenticate('kube-apiserver.flags', asked)).toEqual([expected, expected])
  })

  it('refuses an email that is not verified, the token of another client, and an access token', async () => {
    await recipe.shell(
      'npx signet-idp clients add --config kubernetes.yaml --client-id other --auth-method none --application-type native --redirect-uri http://localhost:8000',
    )
    const unverified = await signIn('bob', await client())
    const foreign = await signIn('alice', await client('other'))
    const asked = [unverified.id_token, unverified.access_token, foreign.id_token]
    for (const by of ['authentication.yaml', 'kube-apiserver.flags'])
      expect(await authenticate(by, asked)).toEqual([
        { error: 'oidc: email not verified' },
        { error: expect.stringMatching(/expected audience|signed with unsupported algorithm/) },
        { error: expect.stringContaining('expected audience') },
      ])
  })
})
