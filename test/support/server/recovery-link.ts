import { join } from 'node:path'
import type { Clock } from '../../../core/clock.js'
import { createRecoveryLinks, recoveryUrl } from '../../../core/interaction/recovery/recovery-links.js'
import { collectionsOf } from '../forge/mint.js'
import { openTestRecords } from '../stores/test-stores.js'
import type { AccountVisitor } from './account-visitor.js'
import type { TestServer } from './server.js'

/** What `signet accounts recover` prints. */
export const issueLink = async (
  { directory, issuer }: Pick<TestServer, 'directory' | 'issuer'>,
  person: { readonly subject: string; readonly id?: string; readonly username?: string },
  { ttlSeconds = 3600, clock = Date.now }: { readonly ttlSeconds?: number; readonly clock?: Clock } = {},
): Promise<string> => {
  await using records = await openTestRecords(join(directory, 'store'), clock)
  const { recoveryLinks: store, revocations } = collectionsOf(records)
  const links = createRecoveryLinks({ store, revocations, clock })
  return recoveryUrl(issuer, await links.issue({ id: 'recovery-of-the-test', ...person }, ttlSeconds))
}

/** The fields of the page that a link leads to. */
export const linkFields = (html: string): Record<string, string> =>
  Object.fromEntries(
    ['csrf', 'link'].map((name) => [name, new RegExp(`name="${name}" value="([^"]*)"`).exec(html)?.[1] ?? '']),
  )

/** Opens the page of a link and uses the link up. */
export const followLink = async (visitor: AccountVisitor, link: string) => {
  const { html } = await visitor.page(link)
  const form = linkFields(html)
  const answer = await visitor.page('/recovery', { method: 'POST', body: new URLSearchParams(form) })
  return { ...answer, form }
}
