import { signInPath } from './site.js'
import type { OneTimeStore } from '../storage/ports.js'
import { hashOpaqueToken, isOpaqueToken } from '../opaque-token.js'

/** A link that signs an operator in once. It is stored under the hash of its secret. */
export interface OperatorLink {
  readonly name: string
}

/** Seconds for which a link is valid. */
export const linkSeconds = 15 * 60

/** Finds whom a link is for, if it was not used. Throws `Unavailable`. */
export const findLink = async (
  links: Pick<OneTimeStore<OperatorLink>, 'findUnused'>,
  secret: string | undefined,
): Promise<OperatorLink | undefined> => (isOpaqueToken(secret) ? links.findUnused(hashOpaqueToken(secret)) : undefined)

/** Uses a link. Of several callers one gets it. Throws `Unavailable`. */
export const redeemLink = async (
  links: Pick<OneTimeStore<OperatorLink>, 'redeem'>,
  secret: string | undefined,
): Promise<OperatorLink | undefined> => {
  if (!isOpaqueToken(secret)) return undefined
  const redemption = await links.redeem(hashOpaqueToken(secret))
  return redemption.outcome === 'won' ? redemption.record : undefined
}

/** The path of the page where a link is used, below `admin.base_url`. */
export const linkPath = (secret: string): string => `${signInPath}/link/${secret}`
