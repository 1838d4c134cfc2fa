import { timingSafeEqual } from 'node:crypto'
import { collections } from '../collections/collections.js'
import { hashOpaqueToken } from '../opaque-token.js'
import type { Administration, Operator, Refusal } from './administration.js'
import { findStateFault, idForm, runOnce, type ApprovalRefusal, type Approved } from './approvals.js'

/**
 * Carries an action out without approvals, with the secret of the configuration. `no_secret`: it has none. Throws
 * `Unavailable`.
 */
export const breakGlass = async (
  administration: Administration,
  by: Operator,
  { id, reason, secret }: { readonly id: string; readonly reason: string; readonly secret: string },
): Promise<Approved | ApprovalRefusal | Refusal<'no_secret' | 'wrong_secret'>> => {
  const { config, stores, clock, audit } = administration
  const expected = config.break_glass_secret?.reveal()
  if (expected === undefined) return { refused: 'no_secret' }
  if (!timingSafeEqual(Buffer.from(hashOpaqueToken(expected)), Buffer.from(hashOpaqueToken(secret))))
    return { refused: 'wrong_secret' }
  const record = idForm.test(id) ? await collections(stores).approvals.find(id) : undefined
  const fault = findStateFault(record, clock())
  if (record === undefined || fault !== undefined) return fault ?? { refused: 'unknown' }
  await audit.record({ event: 'approval.broken_glass', approval: id, reason, document: record.document, by })
  return runOnce(administration, id, { brokenGlassAt: clock() })
}
