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

/** A configuration together with its resolved clients and plugins. */
export interface Deployment {
  readonly config: Salvaged<Config>
  /** The clients in the order of the configuration, with undefined where the metadata is wrong. */
  readonly clients: readonly (Client | undefined)[]
  readonly registries: CheckedRegistries
  /** Reports a problem at a path, or at the text of one. */
  readonly report: (path: Path | string, message: string) => void
  readonly warn: (path: Path, message: string) => void
  /**
   * Returns false when something is wrong in one of these sections, so that nothing can be concluded from what is
   * missing there.
   */
  readonly isValid: (...sections: readonly (keyof Config)[]) => boolean
}

/** Checks sections of a configuration against each other. */
export type Rule = (deployment: Deployment) => void

/** Returns a suggestion to append to a report: the nearest of the known words, or nothing. */
export const meant = (typed: string, words: Iterable<string>): string => {
  const near = findNearMiss(typed, [...words])
  return near === undefined ? '' : `; did you mean \`${near}\`?`
}
