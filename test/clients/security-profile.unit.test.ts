import { describe, expect, it } from 'vitest'
import { formatPath, type Path } from '../../core/format-path.js'
import { createClientDirectory } from '../../core/oauth/clients/client-directory.js'
import { profileRules } from '../../core/checks/profile-rules.js'
import { noLog } from '../../core/observe/log.js'
import type { Deployment } from '../../core/checks/rule.js'
import type { Client } from '../../core/oauth/clients/client.js'
import { parseClientMetadata } from '../../core/oauth/clients/client-metadata.js'
import { fapiMetadata } from '../support/clients/fapi-client.js'

const faultsOf = (changes: object) =>
  parseClientMetadata({ ...fapiMetadata, ...changes }, ['openid', 'offline_access']).problems.map(
    ({ path, message }) => `${path}: ${message}`,
  )

describe('security_profile: fapi2', () => {
  it('is met by private_key_jwt with DPoP, and by a deployment that sets it for its clients', () => {
    expect(faultsOf({})).toEqual([])
    expect(faultsOf({ dpop_bound_access_tokens: false, tls_client_certificate_bound_access_tokens: true })).toEqual([])
    const metadata = { ...fapiMetadata, security_profile: undefined }
    expect(parseClientMetadata(metadata, []).client?.security_profile).toBe('oauth2')
    expect(parseClientMetadata(metadata, [], 'fapi2').client?.security_profile).toBe('fapi2')
  })

  it.each<readonly [changes: object, path: string, clause: string]>([
    [{ token_endpoint_auth_method: 'none', jwks: undefined }, 'token_endpoint_auth_method', '5.3.2.1'],
    [{ dpop_bound_access_tokens: false }, 'dpop_bound_access_tokens', '5.3.2.1'],
    [{ dpop_bound_access_tokens: undefined }, 'dpop_bound_access_tokens', '5.3.2.1'],
    [{ require_pushed_authorization_requests: false }, 'require_pushed_authorization_requests', '5.3.2.2'],
    [{ application_type: 'native', redirect_uris: ['com.example.app:/cb'] }, 'redirect_uris[0]', '5.3.2.2'],
    [{ redirect_uris: ['https://a.example/', 'http://127.0.0.1/cb'] }, 'redirect_uris[1]', '5.3.2.2'],
    ...['id_token_signed_response_alg', 'userinfo_signed_response_alg', 'introspection_signed_response_alg'].map(
      (name) => [{ [name]: 'RS256' }, name, '5.4.1'] as const,
    ),
    ...['authorization_signed_response_alg', 'token_endpoint_auth_signing_alg', 'request_object_signing_alg'].map(
      (name) => [{ [name]: 'ES384' }, name, '5.4.1'] as const,
    ),
  ])('FA18 is not met by %j', (changes, path, clause) => {
    const faults = faultsOf({ consent: undefined, ...changes })
    expect(faults).toEqual([expect.stringMatching(/^[\w[\]]+: .*FAPI 2\.0 Security Profile §/)])
    expect(faults[0]).toContain(`${path}: `)
    expect(faults[0]).toContain(`§${clause})`)
  })

  const problemsOf = (config: object, clients: readonly Partial<Client>[]) => {
    const problems: string[] = []
    const report = (path: Path, message: string) => void problems.push(`${formatPath(path)} ${message}`)
    for (const rule of profileRules) rule({ config, clients, report, isValid: () => true } as unknown as Deployment)
    return problems
  }
  const good = { id_token_signing_alg: 'ES256', clock_tolerance_secs: 10 }
  const bank = { security_profile: 'fapi2' } as const

  it('FA19 is not met by a deployment with other algorithms, or with too strict or too lax clock rules', () => {
    expect(problemsOf(good, [bank])).toEqual([])
    expect(problemsOf({ ...good, id_token_signing_alg: 'RS256' }, [bank])).toEqual([
      expect.stringContaining('needs access_token_signing_alg'),
      expect.stringContaining('needs id_token_signing_alg'),
    ])
    const own = { ...bank, id_token_signed_response_alg: 'ES256' } as const
    expect(problemsOf({ ...good, id_token_signing_alg: 'RS256', access_token_signing_alg: 'PS256' }, [own])).toEqual([])
    for (const clock_tolerance_secs of [9, 61])
      expect(problemsOf({ ...good, clock_tolerance_secs }, [bank])).toHaveLength(1)
    expect(problemsOf({ ...good, par_ttl_secs: 599 }, [bank])).toEqual([])
    expect(problemsOf({ ...good, par_ttl_secs: 600 }, [bank])).toHaveLength(1)
    expect(problemsOf({ ...good, fapi2_message_signing: ['request'] }, [{ security_profile: 'oauth2' }])).toHaveLength(
      1,
    )
  })

  it('FA20 of a deployment refuses every client without it', async () => {
    const web = { client_id: 'web', security_profile: 'oauth2' } as Client
    expect(problemsOf({ ...good, security_profile: 'fapi2' }, [web, bank])).toEqual([
      'clients[0].security_profile must be fapi2, as the configuration is',
    ])
    const stored = { find: async () => web }
    expect(await createClientDirectory([], stored).find('web')).toBe(web)
    const told: unknown[] = []
    const log = { ...noLog, warn: (...line: readonly unknown[]) => void told.push(line) }
    const directory = createClientDirectory([], stored, { profile: 'fapi2', log })
    expect(await directory.find('web')).toBe('disabled')
    expect(await directory.findEnabled('web')).toBeUndefined()
    expect(told).toEqual([['A client without security_profile fapi2 is refused', { client_id: 'web' }]])
  })
})
