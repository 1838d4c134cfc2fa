import { personalRecordsIn } from '../collections/person-records.js'
import type { Consent } from '../interaction/consent.js'
import { change, type Administration, type Operator, type Refusal, type TimedDeployment } from './administration.js'

export type { Consent } from '../interaction/consent.js'

/** Lists the remembered consents of a person. Throws `Unavailable`. */
export const listConsents = ({ config, stores, clock }: TimedDeployment, sub: string): Promise<readonly Consent[]> =>
  personalRecordsIn(stores, config, clock).listConsents(sub)

/** Removes the consents of a person, or that for one client. Returns the `client_id` of each. Throws `Unavailable`. */
export const revokeConsents = (
  administration: Administration,
  by: Operator,
  { sub, client_id }: { readonly sub: string; readonly client_id?: string | undefined },
): Promise<{ readonly clients: readonly string[] } | Refusal<'unknown'>> => {
  const { config, stores, clock } = administration
  const what = { action: 'consent.revoke', sub, ...(client_id !== undefined && { client_id }) }
  return change(administration, by, what, async () => {
    const records = personalRecordsIn(stores, config, clock)
    const found = await records.listConsents(sub, client_id)
    if (found.length === 0) return { refused: 'unknown' }
    await records.removeConsents(found)
    return { clients: found.map(({ clientId }) => clientId) }
  })
}
