import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ConfigurationError, formatProblem } from '../../config/problems.js'
import { checkConfiguration } from '../../core/checks/check-configuration.js'
import { retention } from '../../core/keys/lifecycle/open-ring.js'
import { packageRoot } from '../../core/package-root.js'
import { loadPages } from '../../core/host/load-pages.js'
import { configWith, minimal, plugins } from '../support/server/config-files.js'

const factor = `  - { use: ${join(packageRoot, 'test/support/server/attestation-double/index.ts')} }\n`
const status = factor.replace(' }', ', options: { name: status, status: true } }')
const bootstrap = '  - { use: plugins/attestation/bootstrap }\n'

const check = async (text: string) => checkConfiguration(await configWith(text), {}, loadPages)

/** The problems of this configuration, checked as `signet check` does it. */
const problemsOf = async (text: string): Promise<string[]> => {
  try {
    return (await check(text)).warnings.map((warning) => `warning ${formatProblem(warning)}`)
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error
    return error.problems.map(({ path, message }) => `${path}: ${message}`)
  }
}

const full = (section: string, more = factor) => minimal(`${plugins}${more}${section}\n`)

describe('the section attestation', () => {
  it('may be empty, because every member has a default', async () => {
    const { config } = await check(full('attestation: {}'))
    expect(config.attestation).toEqual({
      attestation_ttl_secs: 86_400,
      attestation_reissue_after_secs: 43_200,
      challenge_ttl_secs: 300,
      max_continuity_secs: 7_776_000,
      reissue_grace_secs: 0,
      signing_alg: 'ES256',
      typ: 'device-attestation+jwt',
      require_audience_in_proof: false,
      require_evidence: [],
      client_attestation_certificates: [],
    })
    expect(config.rate_limits.attestation.address_per_minute).toBe(600)
    expect((await check(minimal(plugins))).config.attestation).toBeUndefined()
  })

  it.each([
    ['signing_alg: HS256', 'attestation.signing_alg: is symmetric'],
    ['signing_alg: none', 'attestation.signing_alg: means no signature at all'],
    ['signing_alg: ES512', 'attestation.signing_alg: must be one of'],
    ['signing_alg: ES384', 'attestation.signing_alg: there is no key for ES384 with the purpose attestation'],
    ['attestation_reissue_after_secs: 86400', 'attestation.attestation_reissue_after_secs: must be less than'],
    ['attestation_ttl_secs: 100', 'attestation.attestation_reissue_after_secs: must be less than'],
    ['attestation_ttl_secs: 0', 'attestation.attestation_ttl_secs: must be at least 1'],
    ['attestation_ttl_secs: 99999999', 'attestation.attestation_ttl_secs: must be at most 2592000'],
    ['challenge_ttl_secs: 3601', 'attestation.challenge_ttl_secs: must be at most 3600'],
    ['max_continuity_secs: 3600', 'attestation.max_continuity_secs: must be at least attestation_ttl_secs'],
    ['reissue_grace_secs: 2592001', 'attestation.reissue_grace_secs: must be at most 2592000'],
    ['typ: at+jwt', 'attestation.typ: is the type of another kind of token'],
    ['typ: JWT', 'attestation.typ: is the type of another kind of token'],
    ['typ: wit+jwt', 'attestation.typ: is the type of another kind of token'],
    ['client_attestation_certificates: ["chain.pem"]', 'must be the PEM text of a certificate chain'],
    [
      'client_attestation_certificates: ["-----BEGIN CERTIFICATE-----MA==-----END CERTIFICATE-----"]',
      'attestation.client_attestation_certificates[0]: contains a certificate that does not parse',
    ],
    ['workload_identity: {}', 'attestation.workload_identity.identifier: is required'],
    ['workload_identity: { identifier: "spiffe://bank.example/api" }', 'must have {principal_id} or {subject}'],
    ['workload_identity: { identifier: "spiffe://bank.example/a-{principal_id}" }', 'must be a URI of spiffe or wimse'],
    ['workload_identity: { identifier: "spiffe://Bank.example/{principal_id}" }', 'must be a URI of spiffe or wimse'],
    ['workload_identity: { identifier: "spiffe://bank.example/{did}" }', 'must be a URI of spiffe or wimse'],
    ['workload_identity: { identifier: "spiffe://bank.example/../{subject}" }', 'must be a URI of spiffe or wimse'],
    ['workload_identity: { identifier: "https://bank.example/{subject}" }', 'must be a URI of spiffe or wimse'],
    ['typ: "a b"', 'attestation.typ: must be a media type'],
    ['attributes: { allow: [model, status] }', 'attestation.attributes.allow[1]: is set only by this service'],
    ['atributes: {}', 'attestation.atributes: unknown key; did you mean `attributes`?'],
  ])('refuses %s', async (member, problem) => {
    expect(await problemsOf(full(`attestation: { ${member} }`))).toContainEqual(expect.stringContaining(problem))
  })

  it('needs a key with the purpose', async () => {
    const text = full('attestation: {}').replace('ref: a.pem', 'ref: a.pem, purposes: [access_token, id_token]')
    expect(await problemsOf(text)).toEqual([
      'attestation.signing_alg: there is no key for ES256 with the purpose attestation',
    ])
  })

  it('needs a second factor, and one needs the section', async () => {
    expect(await problemsOf(full('attestation: {}', ''))).toEqual(['attestation: no plugin provides a second factor'])
    const required = 'attestation: { require_evidence: [device, service] }'
    expect(await problemsOf(full(required))).toEqual(['attestation.require_evidence: no plugin verifies evidence'])
    expect(await problemsOf(full(required, factor.replace(' }', ', options: { evidence: true } }')))).toEqual([])
    expect(await problemsOf(full('attestation: {}', factor))).toEqual([])
    const idle = expect.stringContaining('plugins: a plugin is for attestation, but there is no section attestation')
    for (const plugin of [factor, status, bootstrap]) expect(await problemsOf(full('', plugin))).toEqual([idle])
  })

  it('is required where a client may exchange attestations, and nowhere else', async () => {
    const exchange = (rights: string) =>
      `  - { use: plugins/grants/token-exchange, options: { clients: { fleet: ${rights} } } }\n`
    const idle = expect.stringContaining('takes attestations, but there is no section attestation')
    const attested = '{ attestation_scope: { service: [] } }'
    expect(await problemsOf(full('token_exchange_enabled: true', exchange(attested)))).toEqual([idle])
    expect(await problemsOf(full('token_exchange_enabled: true', exchange('{}')))).toEqual([])
    const section = 'attestation: {}\ntoken_exchange_enabled: true'
    expect(await problemsOf(full(section, factor + exchange(attested)))).toEqual([])
  })

  it('warns about an algorithm that SPIFFE libraries do not support', async () => {
    const text = (scheme: string) =>
      full(
        `attestation: { signing_alg: EdDSA, workload_identity: { identifier: "${scheme}://bank.example/{subject}" } }`,
      ).replace('keys: [', 'keys: [{ kid: e, alg: EdDSA, signer: local, ref: e.pem }, ')
    expect(await problemsOf(text('spiffe'))).toEqual([expect.stringContaining('SPIFFE has no EdDSA')])
    expect(await problemsOf(text('wimse'))).toEqual([])
  })

  it('keeps a retired key until the last attestation under it has expired', async () => {
    const { config } = await check(full('attestation: {}'))
    expect(retention(config, ['attestation'])).toBe(86_400 + config.clock_tolerance_secs)
    const { config: patient } = await check(full('attestation: { reissue_grace_secs: 3600 }'))
    expect(retention(patient, ['attestation'])).toBe(retention(config, ['attestation']) + 3600)
    expect(retention(config, ['access_token'])).toBe(config.access_token_ttl_secs + config.clock_tolerance_secs)
    const { config: without } = await check(minimal(plugins))
    expect(retention(without, ['attestation'])).toBe(without.access_token_ttl_secs + without.clock_tolerance_secs)
  })
})
