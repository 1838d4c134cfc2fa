import { expect, it } from 'vitest'
import { minimal, plugins } from '../support/server/config-files.js'
import { problemsOf } from '../support/server/problems-of.js'

// A plugin that signs requests needs a key with the purpose for it.

const withPlugin = (name: string, options: string): string =>
  minimal(`${plugins}  - { use: plugins/login/${name}, options: { id: own, ${options} } }`)

/** Keys without `purposes` have all of them. */
const locked = (text: string, ...more: string[]): string =>
  text.replaceAll('.pem }', `.pem, purposes: [${['access_token', 'id_token', ...more].join(', ')}] }`)

const handoff = 'sign_in_url: https://bank.example/start'
const upstream = 'issuer: https://op.example, client_id: me'
const byKey = `${upstream}, token_endpoint_auth_method: private_key_jwt`

it.each([
  [
    'plugins[6]: handoff needs a key with the purpose handoff: write `purposes: [access_token, id_token, handoff]` for the key a',
    withPlugin('handoff', handoff),
    'handoff',
  ],
  [
    'plugins[6]: oidc needs a key for RS256 with the purpose client_authentication: write `purposes: [access_token, id_token, client_authentication]` for the key r',
    withPlugin('oidc', `${byKey}, client_assertion_signing_alg: RS256`),
    'client_authentication',
  ],
  [
    'plugins[6]: oidc needs a key with the purpose client_authentication: write `purposes: [access_token, id_token, client_authentication]` for the key a',
    withPlugin('oidc', byKey),
    'client_authentication',
  ],
])('%s', async (problem, text, purpose) => {
  expect(await problemsOf(locked(text))).toEqual([problem])
  expect(await problemsOf(locked(text, purpose))).toEqual([])
  expect(await problemsOf(text)).toEqual([])
})

it('reports that there is no key for the algorithm', async () => {
  expect(await problemsOf(withPlugin('oidc', `${byKey}, client_assertion_signing_alg: PS256`))).toEqual([
    'plugins[6]: oidc needs a key for PS256 with the purpose client_authentication: add one to `keys`',
  ])
})

it('a provider that knows a secret needs no key', async () => {
  expect(await problemsOf(locked(withPlugin('oidc', `${upstream}, client_secret: a-secret`)))).toEqual([])
})
