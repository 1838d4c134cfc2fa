import type { PluginModule } from '../../../core/api/index.js'
import type { EvidenceContext, EvidenceVerifier } from '../../../core/api/attestation.js'

type Json = Record<string, unknown>

export const challenge = 'c'.repeat(72)
export const jkt = 'j'.repeat(43)

/** What a plugin says of evidence, without a server: the audit log puts refusals of one moment into one line. */
export const askEvidence = async <Options>(
  plugin: PluginModule<Options, 'clock'>,
  options: Json,
  evidence: Json,
  clock: () => number = Date.now,
): ReturnType<EvidenceVerifier['verify']> => {
  const checked = await plugin.options?.['~standard'].validate(JSON.parse(JSON.stringify(options)))
  if (checked === undefined || !('value' in checked)) throw new Error(`options: ${JSON.stringify(checked?.issues)}`)
  const made = await plugin.create(checked.value, { clock })
  const context: EvidenceContext = {
    principal: { subject: 'alice', principalId: 'phone-1', principalType: 'device' },
    jwk: { kty: 'EC', crv: 'P-256', x: 'x', y: 'y' },
    ...{ jkt, challenge, signal: new AbortController().signal },
  }
  const [verifier] = made.evidence ?? []
  if (verifier === undefined) throw new Error('the plugin has no evidence')
  return verifier.verify(context, evidence as never)
}
