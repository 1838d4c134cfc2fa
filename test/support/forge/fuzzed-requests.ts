import fc from 'fast-check'
import { serviceClient, webClient } from '../server/server.js'
import { basic } from '../clients/clients.js'

/** A request that is right, but for what happens to it. */
export interface Base {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** Of the query for GET, of the body for POST. */
  readonly form: Readonly<Record<string, string>>
}

export interface Fuzzed {
  readonly method: string
  readonly target: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface Seeds {
  /** What is worth sending, because it is right somewhere. */
  readonly known: readonly string[]
  /** `Cookie` values. */
  readonly cookies: readonly string[]
  readonly bases: readonly Base[]
  /** Id of one that is open. */
  readonly interaction: string
}

/** Requests of any kind, most of them nearly right. */
export const fuzzedRequests = ({ known, cookies, bases, interaction }: Seeds): fc.Arbitrary<Fuzzed> => {
  const names = [
    ...['grant_type', 'code', 'redirect_uri', 'code_verifier', 'refresh_token', 'scope', 'resource', 'client_id'],
    ...['client_secret', 'client_assertion', 'client_assertion_type', 'access_token', 'response_type', 'response_mode'],
    ...['state', 'nonce', 'prompt', 'max_age', 'acr_values', 'login_hint', 'id_token_hint', 'ui_locales', 'display'],
    ...['claims', 'code_challenge', 'code_challenge_method', 'request', 'request_uri', 'registration', 'csrf'],
    ...['username', 'decision', '__proto__', 'constructor', 'toString', 'code[$ne]', 'scope[]', 'a[b][c]', ''],
  ]

  const encodeForm = (pairs: readonly (readonly [string, string])[]): string =>
    new URLSearchParams(pairs.map(([key, held]) => [key.toWellFormed(), held.toWellFormed()])).toString()

  const text = fc.string({ unit: 'binary', maxLength: 60 })
  const knownValue = fc.nat().map((index) => known[index % known.length] ?? '')
  const value = fc.oneof(
    { weight: 4, arbitrary: knownValue },
    {
      weight: 1,
      arbitrary: fc.tuple(knownValue, fc.nat(), text).map(([good, at, more]) => good.slice(0, at % 80) + more),
    },
    { weight: 1, arbitrary: text },
    { weight: 1, arbitrary: fc.json({ maxDepth: 4 }) },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        '',
        '0',
        '-1',
        '1e9',
        'true',
        'null',
        '[]',
        '{}',
        'a'.repeat(3000),
        '\0',
        '\r\nX: y',
        '%',
      ),
    },
  )
  const name = fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...names) }, { weight: 1, arbitrary: text })
  const form = fc.oneof(
    { weight: 9, arbitrary: fc.array(fc.tuple(name, value), { maxLength: 9 }).map(encodeForm) },
    { weight: 1, arbitrary: fc.string({ unit: 'binary-ascii', maxLength: 300 }) },
  )

  const path = fc.oneof(
    {
      weight: 8,
      arbitrary: fc
        .constantFrom(
          ...['/token', '/userinfo', '/authorize', '/.well-known/openid-configuration', '/jwks.json', '/'],
          ...['/.well-known/oauth-authorization-server', '/assets/signet.css', '/assets/x', '/token', '/authorize'],
          ...[
            '/interaction/{id}/login',
            '/interaction/{id}/consent',
            '/interaction/a/login',
            '/interaction/__proto__/consent',
          ],
        )
        .map((route) => route.replace('{id}', interaction)),
    },
    { weight: 1, arbitrary: fc.webPath().map((found) => (found.startsWith('/') ? found : `/${found}`)) },
  )

  const printable = fc.stringMatching(/^[\x20-\x7e\x80-\xff]{0,80}$/)
  const header = fc.oneof(
    fc.tuple(
      fc.constant('authorization'),
      fc.oneof(
        fc.constantFrom(basic(webClient), basic(serviceClient), 'Basic', 'Bearer', 'Basic Og==', 'DPoP x'),
        knownValue.map((token) => `Bearer ${token}`),
        printable.map((rest) => `Basic ${rest}`),
      ),
    ),
    fc.tuple(
      fc.constant('cookie'),
      fc.oneof(
        fc.nat().map((index) => cookies[index % cookies.length] ?? ''),
        printable,
      ),
    ),
    fc.tuple(
      fc.constantFrom(
        'accept',
        'origin',
        'referer',
        'dpop',
        'x-forwarded-for',
        'x-forwarded-host',
        'accept-language',
        'if-none-match',
      ),
      fc.oneof(printable, fc.constantFrom('text/html', 'null', '*', '127.0.0.1')),
    ),
    fc.tuple(
      fc.constant('content-type'),
      fc.oneof(printable, fc.constantFrom('application/json', 'multipart/form-data; boundary=x', 'text/plain')),
    ),
  )

  // What a client cannot put into a request line is not ours to withstand.
  const encodeTarget = (target: string): string =>
    target.replace(/[^\x21-\x7e]+/g, (characters) => encodeURI(characters.toWellFormed()))

  const formType = { 'content-type': 'application/x-www-form-urlencoded' }
  const trimmed = (headers: readonly (readonly [string, string])[]): Record<string, string> =>
    Object.fromEntries(headers.map(([key, held]) => [key, held.trim()]))

  const wild: fc.Arbitrary<Fuzzed> = fc
    .record({
      method: fc.constantFrom('GET', 'GET', 'POST', 'POST', 'POST', 'HEAD', 'OPTIONS', 'PUT'),
      path,
      query: fc.option(form, { nil: '' }),
      headers: fc.array(header, { maxLength: 4 }),
      body: form,
    })
    .map(({ method, path: at, query, headers, body }) => ({
      method,
      target: encodeTarget(`${at}${query === '' ? '' : '?'}${query}`),
      headers: { ...formType, ...trimmed(headers) },
      body: method === 'POST' || method === 'PUT' ? body : '',
    }))

  /** A right request with up to four changes. */
  const nearlyRight: fc.Arbitrary<Fuzzed> = fc
    .record({
      base: fc.nat(),
      drop: fc.option(fc.nat(), { freq: 3 }),
      replace: fc.option(fc.tuple(fc.nat(), value), { freq: 2 }),
      add: fc.array(fc.tuple(name, value), { maxLength: 1 }),
      headers: fc.array(header, { maxLength: 1 }),
    })
    .map(({ base, drop, replace, add, headers }) => {
      const right = bases[base % bases.length] as Base
      const pairs = Object.entries(right.form)
      if (replace !== null && pairs.length > 0) {
        const [key] = pairs[replace[0] % pairs.length] as [string, string]
        pairs[replace[0] % pairs.length] = [key, replace[1]]
      }
      if (drop !== null && pairs.length > 0) pairs.splice(drop % pairs.length, 1)
      const encoded = encodeForm([...pairs, ...add])
      return {
        method: right.method,
        target: right.method === 'GET' ? `${right.path}?${encoded}` : right.path,
        headers: { ...formType, ...right.headers, ...trimmed(headers) },
        body: right.method === 'GET' ? '' : encoded,
      }
    })

  return fc.oneof({ weight: 3, arbitrary: nearlyRight }, { weight: 1, arbitrary: wild })
}
