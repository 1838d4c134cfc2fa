import { principalEntryId, type PrincipalCollections } from './principal-registry.js'

const pageSize = 500

/**
 * Indexes by subject the principals that a version without the index enrolled. Resolves with their number. It may be
 * repeated, and may run beside the service. Throws `Unavailable`.
 */
export const indexPrincipals = async ({
  principals,
  principalIndex,
}: Pick<PrincipalCollections, 'principals' | 'principalIndex'>): Promise<number> => {
  let count = 0
  for (let after: string | undefined; ;) {
    const page = await principals.list(after, pageSize)
    const puts = page.map(({ record: { principal } }) =>
      principalIndex.put(principalEntryId(principal), { principal }, { onlyIfAbsent: true }),
    )
    count += (await Promise.all(puts)).filter((isNew) => isNew).length
    after = page.at(-1)?.id
    if (after === undefined) return count
  }
}
