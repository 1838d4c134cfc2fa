import type { Salvaged } from '../../config/explain.js'
import { findNearMiss } from '../near-miss.js'
import type { Path } from '../format-path.js'
import type { Config } from '../../config/schema.js'
import type { Registries } from '../modules/registries.js'
import type { Client } from '../oauth/clients/client.js'

export type CheckedRegistries = Pick<
  Registries,
  | 'grants'
  | 'clientAuthenticators'
  | 'signIn'
  | 'consent'
  | 'accounts'
  | 'secondFactors'
  | 'statusProvider'
  | 'evidence'
  | 'authorizationDetails'
  | 'signedRequests'
>

/** A configuration with what its clients and plugins are. */
export interface Deployment {
  readonly config: Salvaged<Config>
  /** In the order of the configuration; undefined where the metadata is wrong. */
  readonly clients: readonly (Client | undefined)[]
  readonly registries: CheckedRegistries
  /** Where: a path, or the text of one. */
  readonly report: (path: Path | string, message: string) => void
  readonly warn: (path: Path, message: string) => void
  /** False when something is wrong in one of these sections: then nothing follows from what is missing there. */
  readonly isWhole: (...sections: readonly (keyof Config)[]) => boolean
}

/** Holds sections of a configuration against each other. */
export type Rule = (deployment: Deployment) => void

/** A question to append to a report: the nearest of the known words, or nothing. */
export const meant = (typed: string, words: Iterable<string>): string => {
  const near = findNearMiss(typed, [...words])
  return near === undefined ? '' : `; did you mean \`${near}\`?`
}
