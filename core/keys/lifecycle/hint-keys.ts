import type { Config } from '../../../config/schema.js'
import type { Clock } from '../../clock.js'
import type { KeyRing, PublishedKey } from '../ports.js'
import { retention } from './open-ring.js'
import { findPublished, type KeyPublication, type KeyPublications } from './publications.js'

export interface HintKeyOptions {
  readonly published: Pick<KeyRing, 'publishedKey'>
  readonly publications: KeyPublications
  readonly config: () => Config
  readonly clock: Clock
}

/**
 * Whether the key signed ID tokens and left only after its last one expired, in a session that may still be live. A
 * key that was removed earlier is not trusted.
 */
const isRemembered = ({ entry, withdrawn = Infinity }: KeyPublication, config: Config, now: number): boolean => {
  const notAfter = entry?.not_after
  if (entry === undefined || notAfter === undefined || !entry.purposes.includes('id_token')) return false
  const gone = notAfter + retention(config, entry.purposes) * 1000
  return withdrawn >= gone && now >= gone && now < gone + config.session_ttl_secs * 1000
}

/**
 * The keys that may have signed an `id_token_hint`: the published ones, and those that are gone by their time for as
 * long as a session of theirs may live, so that a rotation does not break sign-out (RP-Initiated Logout §2, OIDC Core
 * §3.1.2.1).
 */
export const createHintKeys = ({
  published,
  publications,
  config,
  clock,
}: HintKeyOptions): Pick<KeyRing, 'publishedKey'> => ({
  publishedKey(kid): PublishedKey | undefined {
    const known = published.publishedKey(kid)
    if (known !== undefined) return known
    const publication = publications.get(kid)
    if (publication?.entry === undefined || !isRemembered(publication, config(), clock())) return undefined
    const key = findPublished([{ kid, alg: publication.entry.alg }], publications).get(kid)
    return key && { ...key, purposes: ['id_token'] }
  },
})
