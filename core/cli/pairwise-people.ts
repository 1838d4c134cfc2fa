import { isRefusal } from '../administration/administration.js'
import { findPersonBehind, findSubjectSeenBy, type PairwiseRefusal } from '../administration/pairwise-people.js'
import { administer, readDeployment, withStores } from './deployment.js'
import { CommandFailed } from './failure.js'
import { print, printJson } from './output.js'
import type { PersonOptions } from './person.js'

export interface SeenByOptions extends PersonOptions {
  readonly client: string
}

const refusals: Readonly<Record<PairwiseRefusal['refused'] | 'unknown', string>> = {
  unknown_client: 'There is no such client.',
  no_key: 'The configuration has no pairwise_key.',
  another_key: 'The pairwise_key is not the one that the service has started with.',
  unknown: 'No account, and nobody with a grant to this client, is known to it by this subject.',
}

/** Implements `signet people find`. */
export const findPerson = async ({ client: client_id, sub, ...options }: SeenByOptions): Promise<void> => {
  const config = await readDeployment(options)
  const found = await administer(config, (administration, by) =>
    findPersonBehind(administration, by, { client_id, sub }),
  )
  if (isRefusal(found)) throw new CommandFailed(refusals[found.refused])
  if (options.json) return printJson(found)
  print(found.username === undefined ? found.sub : `${found.sub}  (${found.username})`)
}

/** Implements `signet people subject`. */
export const printSubject = async ({ client: client_id, sub, ...options }: SeenByOptions): Promise<void> => {
  const config = await readDeployment(options)
  const seen = await withStores(config, (stores) => findSubjectSeenBy({ config, stores }, { client_id, sub }))
  if (isRefusal(seen)) throw new CommandFailed(refusals[seen.refused])
  if (options.json) printJson(seen)
  else print(seen.sub)
}
