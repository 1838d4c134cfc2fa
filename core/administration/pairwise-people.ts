import { collections } from '../collections/collections.js'
import { listAccounts, openAccountStore } from '../interaction/accounts.js'
import type { Client } from '../oauth/clients/client.js'
import { comparePairwiseKey } from '../oauth/subjects/pairwise-key.js'
import { createSubjects, type Subjects } from '../oauth/subjects/subjects.js'
import { change, type Administration, type Deployment, type Operator, type Refusal } from './administration.js'
import { findClient } from './clients.js'

/** A person, by the local subject or by the one that a client has. */
export interface SeenPerson {
  readonly client_id: string
  readonly sub: string
}

export interface PersonBehind {
  readonly sub: string
  readonly username?: string
}

/** `no_key`: the configuration has no `pairwise_key`; `another_key`: the service was started with another one. */
export type PairwiseRefusal = Refusal<'unknown_client' | 'no_key' | 'another_key'>

interface View {
  readonly client: Client
  readonly subjects: Subjects
}

/** Uses the key of the service, because another key would find no person or the wrong one. */
const openView = async (deployment: Deployment, clientId: string): Promise<View | PairwiseRefusal> => {
  const { config, stores } = deployment
  const client = await findClient(deployment, clientId)
  if (client === undefined) return { refused: 'unknown_client' }
  const subjects = createSubjects(config.pairwise_key?.reveal())
  if (client.subject_type !== 'pairwise') return { client, subjects }
  if (subjects.fingerprint === undefined) return { refused: 'no_key' }
  const { secrets } = collections(stores)
  const compared = await comparePairwiseKey({ secrets, fingerprint: subjects.fingerprint })
  return compared === 'another' ? { refused: 'another_key' } : { client, subjects }
}

const pageSize = 500

/** Yields accounts, and people who have granted the client something, because another login plugin may know them. */
async function* candidates({ config, stores }: Deployment, clientId: string): AsyncGenerator<PersonBehind> {
  yield* config.accounts
  const accounts = openAccountStore(stores.records)
  for (let page = await listAccounts(accounts, undefined, pageSize); page.length > 0;) {
    yield* page
    page = await listAccounts(accounts, page.at(-1)?.username, pageSize)
  }
  const { grantIndex } = collections(stores)
  for (let page = await grantIndex.list(undefined, pageSize); page.length > 0;) {
    for (const { record } of page) if (record.clientId === clientId) yield { sub: record.subject }
    page = await grantIndex.list(page.at(-1)?.id, pageSize)
  }
}

const search = async (deployment: Deployment, { client, subjects }: View, seen: string) => {
  for await (const { sub, username } of candidates(deployment, client.client_id))
    if (subjects.seenBy(client, sub) === seen) return { sub, ...(username !== undefined && { username }) }
  return undefined
}

/**
 * Finds the person whom a client knows by the subject `sub`. The search is recorded whether or not it succeeds,
 * because it lifts a pseudonym. `unknown`: no account, and no person with a grant to the client, has this subject
 * there. Throws `Unavailable`.
 */
export const findPersonBehind = async (
  administration: Administration,
  by: Operator,
  { client_id, sub: pairwise_sub }: SeenPerson,
): Promise<PersonBehind | PairwiseRefusal | Refusal<'unknown'>> => {
  const what = { action: 'person.find', client_id, pairwise_sub }
  const found = await change(administration, by, what, async () => {
    const view = await openView(administration, client_id)
    return 'refused' in view ? view : { person: await search(administration, view, pairwise_sub) }
  })
  if ('refused' in found) return found
  return found.person ?? { refused: 'unknown' }
}

/** Returns the subject by which a client knows the person `sub`. Throws `Unavailable`. */
export const findSubjectSeenBy = async (
  deployment: Deployment,
  { client_id, sub }: SeenPerson,
): Promise<SeenPerson | PairwiseRefusal> => {
  const view = await openView(deployment, client_id)
  return 'refused' in view ? view : { client_id, sub: view.subjects.seenBy(view.client, sub) }
}
