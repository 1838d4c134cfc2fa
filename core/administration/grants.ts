import { collections } from '../collections/collections.js'
import { personalRecordsIn } from '../collections/person-records.js'
import { grantLifetime } from '../keys/lifecycle/open-ring.js'
import { grantEntryId, hasGrantEntry, type GrantEntry } from '../oauth/grants/grant-index.js'
import { change, type Administration, type Operator, type Refusal, type TimedDeployment } from './administration.js'

export type { GrantEntry } from '../oauth/grants/grant-index.js'

/** Lists the grants of a person. Throws `Unavailable`. */
export const listGrants = ({ config, stores, clock }: TimedDeployment, sub: string): Promise<readonly GrantEntry[]> =>
  personalRecordsIn(stores, config, clock).listGrants(sub)

const isGrantId = (text: string): boolean => /^[\w-]{1,128}$/.test(text)

/** Ends a grant of a person with all its tokens. `unknown`: the person has no such grant. Throws `Unavailable`. */
export const revokeGrantOf = async (
  administration: Administration,
  by: Operator,
  { sub, grant_id }: { readonly sub: string; readonly grant_id: string },
): Promise<{ readonly grant_id: string } | Refusal<'unknown'>> => {
  if (!isGrantId(grant_id)) return { refused: 'unknown' }
  const { config, stores, clock } = administration
  return change(administration, by, { action: 'grant.revoke', sub, grant_id }, async () => {
    const entry = await collections(stores).grantIndex.find(grantEntryId({ subject: sub, grantId: grant_id }))
    if (entry === undefined) return { refused: 'unknown' }
    await personalRecordsIn(stores, config, clock).revokeGrants([entry])
    return { grant_id }
  })
}

/**
 * Ends a grant with all its tokens, as `/revoke` does with a refresh token, by the id in the audit log. `isKnown` is
 * false for a grant without an entry; its tokens, if there are any, are refused from now on too. Throws `Unavailable`.
 */
export const revokeGrant = async (
  administration: Administration,
  by: Operator,
  grant_id: string,
): Promise<{ readonly isKnown: boolean } | Refusal<'malformed'>> => {
  if (!isGrantId(grant_id)) return { refused: 'malformed' }
  const { config, stores } = administration
  return change(administration, by, { action: 'grant.revoke', grant_id }, async () => {
    const { revocations, grantIndex } = collections(stores)
    await revocations.revoke(grant_id, grantLifetime(config))
    return { isKnown: await hasGrantEntry(grantIndex, grant_id) }
  })
}

/**
 * Ends everything that a person has granted, to this client or to all, including grants that are not listed. Returns
 * the ids of those that were listed. Throws `Unavailable`.
 */
export const revokeGrantsOf = (
  administration: Administration,
  by: Operator,
  { sub, client_id }: { readonly sub: string; readonly client_id?: string | undefined },
): Promise<{ readonly grants: readonly string[] }> => {
  const { config, stores, clock } = administration
  const what = { action: 'grant.revoke', sub, ...(client_id !== undefined && { client_id }) }
  return change(administration, by, what, async () => {
    const found = await personalRecordsIn(stores, config, clock).endGrantsOf(sub, client_id)
    return { grants: found.map(({ grantId }) => grantId) }
  })
}
