import type { Config } from '../../config/schema.js'
import { collections } from '../collections/collections.js'
import type { Stores } from '../collections/stores.js'
import { listAccounts, openAccountStore } from '../interaction/accounts.js'
import type { Client } from '../oauth/client.js'
import { comparePairwiseKey } from '../oauth/pairwise-key.js'
import { createSubjects, type Subjects } from '../oauth/subjects.js'
import { getClient } from './clients.js'
import { readDeployment, recordChange, withStores } from './deployment.js'
import { CommandFailed } from './failure.js'
import { print, printJson } from './output.js'
import type { PersonOptions } from './person.js'

export interface SeenByOptions extends PersonOptions {
  readonly client: string
}

/** A person, as far as a search knows of one. */
interface Candidate {
  readonly sub: string
  readonly username?: string
}

/** With the key that the service has: another one would find nobody, or somebody else. Throws `CommandFailed`. */
const openSubjects = async (config: Config, stores: Stores, client: Client): Promise<Subjects> => {
  const subjects = createSubjects(config.pairwise_key?.reveal())
  const { secrets } = collections(stores)
  if (client.subject_type !== 'pairwise') return subjects
  if (subjects.fingerprint === undefined) throw new CommandFailed('The configuration has no pairwise_key.')
  if ((await comparePairwiseKey({ secrets, fingerprint: subjects.fingerprint })) !== 'another') return subjects
  throw new CommandFailed('The pairwise_key is not the one that the service has started with.')
}

const pageSize = 500

/** Accounts, and people who have granted the client something: another login plugin may know them. */
async function* candidates(config: Config, stores: Stores, clientId: string): AsyncGenerator<Candidate> {
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

/** `signet people find`: recorded, because it takes a pseudonym away. */
export const findPerson = async ({ client: client_id, sub: reported, ...options }: SeenByOptions): Promise<void> => {
  const config = await readDeployment(options)
  const found = await recordChange(config, { action: 'person.find', client_id, pairwise_sub: reported }, () =>
    withStores(config, async (stores): Promise<Candidate | undefined> => {
      const client = await getClient(config, stores, client_id)
      const subjects = await openSubjects(config, stores, client)
      for await (const { sub, username } of candidates(config, stores, client_id))
        if (subjects.seenBy(client, sub) === reported) return { sub, ...(username !== undefined && { username }) }
      return undefined
    }),
  )
  if (found === undefined)
    throw new CommandFailed('No account, and nobody with a grant to this client, is known to it by this subject.')
  if (options.json) return printJson(found)
  print(found.username === undefined ? found.sub : `${found.sub}  (${found.username})`)
}

/** `signet people subject`. */
export const printSubject = async ({ client: client_id, sub, ...options }: SeenByOptions): Promise<void> => {
  const config = await readDeployment(options)
  const told = await withStores(config, async (stores) => {
    const client = await getClient(config, stores, client_id)
    return (await openSubjects(config, stores, client)).seenBy(client, sub)
  })
  if (options.json) printJson({ client_id, sub: told })
  else print(told)
}
