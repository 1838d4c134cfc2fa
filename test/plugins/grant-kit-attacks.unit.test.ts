import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { definePlugin, OAuthError, Unavailable, type GrantDecision, type GrantRequest } from '../../core/api/index.js'
import { attackGrant, type GrantAttack, type Rule } from '../../core/testing/index.js'
import authorizationCode from '../../plugins/grants/authorization-code/index.js'
import clientCredentials from '../../plugins/grants/client-credentials/index.js'
import refreshToken from '../../plugins/grants/refresh-token/index.js'
import tokenExchange from '../../plugins/grants/token-exchange/index.js'

const plugin = (handle: (request: GrantRequest) => unknown) =>
  definePlugin({
    name: 'loan',
    apiVersion: 1,
    create: () => ({
      grants: [
        {
          grantType: 'urn:bank.example:grant:loan',
          handle: async (request) => (await handle(request)) as GrantDecision,
        },
      ],
    }),
  })

const refuse = (): never => {
  throw new OAuthError('invalid_grant', 'The loan is not handled by this client.')
}

/** What a good one does; each bad one differs in one thing. */
const good = ({ params, scope, resource, client }: GrantRequest): GrantDecision => ({
  subject: params.get('loan') === 'L-1001' && client.client_id === 'client' ? 'L-1001' : refuse(),
  scope,
  audience: resource,
})

const honest: GrantAttack = { requests: [{ params: { loan: 'L-1001' } }], deadlineMs: 200 }

let kept: string | undefined
const bad: readonly (readonly [string, Rule, (request: GrantRequest) => unknown])[] = [
  ['widens the scope', 'scope', (request) => ({ ...good(request), scope: ['read', 'write', 'admin'] })],
  ['gives more scope than was asked for', 'scope', (request) => ({ ...good(request), scope: request.client.scope })],
  ['names another audience', 'audience', (request) => ({ ...good(request), audience: ['https://elsewhere.example'] })],
  ['speaks for another client', 'client', (r) => ({ ...good(r), subject: r.params.get('sub') ?? good(r).subject })],
  [
    'continues the grant of another client',
    'client',
    (request) => ({
      ...good(request),
      grant: { grantId: 'g', clientId: 'else', subject: 'L-1001', scope: [], resource: [], authentication: {} },
      redeem: { kind: 'refresh_token', token: 't' },
    }),
  ],
  ['sets the claims of the core', 'claims', (request) => ({ ...good(request), claims: { act: { sub: 'root' } } })],
  ['hangs', 'hangs', () => new Promise(() => undefined)],
  ['throws', 'throws', (request) => (request.params.get('loan') as string).toUpperCase() && good(request)],
  ['decides nothing', 'junk', (request) => void good(request)],
  ['decides what is no number', 'junk', (request) => ({ ...good(request), claims: { limit: NaN } })],
  [
    'decides again at each look',
    'junk',
    (request) => ({
      ...good(request),
      get scope() {
        return request.client.scope
      },
    }),
  ],
  [
    'keeps something between requests',
    'state',
    (request) => {
      const decision = { ...good(request), claims: { before: kept ?? '' } }
      kept = request.params.get('loan') + String(request.scope)
      return decision
    },
  ],
  [
    'tells the input back',
    'echo',
    ({ params }) => {
      throw new OAuthError('invalid_grant', `There is no loan ${params.get('loan') ?? ''}.`)
    },
  ],
]

describe('the attack suite', () => {
  it.each(bad)('finds a grant that %s', async (_name, rule, handle) => {
    const { findings } = await attackGrant(plugin(handle), honest)
    expect(findings.map((finding) => finding.rule)).toContain(rule)
  })

  it('says what a grant throws, and where', async () => {
    const { findings } = await attackGrant(
      plugin(() => {
        throw new TypeError('no such loan')
      }),
      honest,
    )
    const place = /^throws TypeError: no such loan \(test\/plugins\/grant-kit-attacks\.unit\.test\.ts:\d+:\d+\)$/
    expect(findings.find(({ rule }) => rule === 'throws')?.detail).toMatch(place)
  })

  it('names the option that is wrong', async () => {
    const picky = { ...plugin(good), options: z.strictObject({ product: z.string() }) }
    await expect(attackGrant(picky, { ...honest, options: { product: 7 } })).rejects.toThrow(
      'the options are wrong: options.product: ',
    )
  })

  it('finds nothing in a good one', async () => {
    const { findings, requests } = await attackGrant(plugin(good), honest)
    expect(findings).toEqual([])
    expect(requests).toBeGreaterThan(30)
  })

  it('finds a grant that never gives anything', async () => {
    const { findings } = await attackGrant(plugin(refuse), honest)
    expect(findings.map(({ rule }) => rule)).toContain('refuses')
  })

  const lender = (look: (find: () => Promise<unknown>) => Promise<unknown>) =>
    definePlugin({
      name: 'lender',
      apiVersion: 1,
      needs: ['refreshTokens'],
      create: (_options, { refreshTokens }) => ({
        grants: [
          {
            grantType: 'urn:bank.example:grant:lender',
            handle: async (request) => {
              await look(() => refreshTokens.find('x'))
              return good(request)
            },
          },
        ],
      }),
    })
  const services = { refreshTokens: Object.freeze({ find: async () => undefined }) }

  it('finds a grant that takes an outage for a refusal', async () => {
    const { findings } = await attackGrant(
      lender((find) => find().catch(refuse)),
      { ...honest, services },
    )
    expect(findings.map(({ rule }) => rule)).toEqual(['outage'])
  })

  it('finds nothing in a grant that tells an outage, its own deadline among them', async () => {
    const passesOn = await attackGrant(
      lender((find) => find()),
      { ...honest, services },
    )
    expect(passesOn.findings).toEqual([])
    const late = new DOMException('The operation was aborted due to timeout', 'TimeoutError')
    const gaveUp = await attackGrant(
      plugin(() => Promise.reject(late)),
      honest,
    )
    expect(gaveUp.findings.map(({ rule }) => rule)).toEqual(['unreachable'])
  })
})

const verifier = 'a-code-verifier-of-43-characters-or-more~._'
const record = {
  grantId: 'grant',
  clientId: 'client',
  subject: 'alice',
  scope: ['read', 'write'],
  resource: ['https://api.example', 'https://issuer.example'],
  authentication: { auth_time: 1 },
  redirectUri: 'https://client.example/cb',
  redirectUriSent: true,
  codeChallenge: createHash('sha256').update(verifier).digest('base64url'),
}
const claims = {
  sub: 'alice',
  aud: ['https://api.example', 'https://issuer.example'],
  client_id: 'client',
  scope: 'read write',
  exp: Math.floor(Date.now() / 1000) + 600,
  auth_time: 1,
}
const accessType = 'urn:ietf:params:oauth:token-type:access_token'

describe('the grants that come with Signet withstand it', () => {
  it.each<readonly [string, Parameters<typeof attackGrant>[0], GrantAttack]>([
    [
      'authorization_code',
      authorizationCode,
      {
        services: { codes: { find: async (code) => (code === 'good' ? record : undefined) } },
        requests: [{ params: { code: 'good', redirect_uri: record.redirectUri, code_verifier: verifier } }],
      },
    ],
    [
      'refresh_token',
      refreshToken,
      {
        services: { refreshTokens: { find: async (token) => (token === 'good' ? record : undefined) } },
        requests: [{ params: { refresh_token: 'good' } }],
      },
    ],
    ['client_credentials', clientCredentials, { requests: [{ params: {} }, { params: {}, scope: ['read'] }] }],
    [
      'token exchange',
      tokenExchange,
      {
        services: {
          ownTokens: { verify: async (token) => (token === 'good' ? { claims, grantId: 'grant' } : undefined) },
        },
        requests: [{ params: { subject_token: 'good', subject_token_type: accessType } }],
      },
    ],
  ])('%s', async (_name, module, given) => {
    expect((await attackGrant(module, given)).findings).toEqual([])
  })
})

describe('a finding', () => {
  const find = async (handle: (request: GrantRequest) => unknown) =>
    (await attackGrant(plugin(handle), honest)).findings

  it('says with what an honest request was refused, and why', async () => {
    const [first] = await find(() => {
      throw new OAuthError('invalid_grant', 'There is no such loan.', { reason: 'the branch is closed' })
    })
    const detail = 'refuses what it should give: invalid_grant: There is no such loan. (the branch is closed)'
    expect(first).toEqual({ rule: 'refuses', attack: 'an honest request', detail })
  })

  it('tells an outage of the service from a refusal', async () => {
    const [first] = await find(() => {
      throw new Unavailable('loan-service', 'no', 'It does not answer.', { cause: new Error('connect ECONNREFUSED') })
    })
    const detail = 'cannot decide: Unavailable of loan-service: It does not answer. (Error: connect ECONNREFUSED)'
    expect(first).toEqual({ rule: 'unreachable', attack: 'an honest request', detail })
  })

  it('tells a deadline of the plugin from a refusal', async () => {
    const [first] = await find(() => {
      throw new DOMException('The operation was aborted due to timeout', 'TimeoutError')
    })
    expect(first).toMatchObject({ rule: 'unreachable', detail: expect.stringContaining('TimeoutError: The operation') })
  })

  it('says what the second answer was where it differs from the first', async () => {
    let asked = 0
    const found = await find((request) => {
      if (asked++ > 0) throw new OAuthError('invalid_grant', 'This loan was paid out.')
      return good(request)
    })
    const detail = 'decides otherwise than at first: invalid_grant: This loan was paid out.'
    expect(found).toContainEqual({ rule: 'state', attack: 'the same request again', detail })
  })
})
