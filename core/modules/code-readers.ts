import { hashOpaqueToken, isOpaqueToken } from '../opaque-token.js'
import { readRefreshToken } from '../oauth/grants/refresh-token.js'
import { isGrantOver } from '../oauth/grants/access-end.js'
import type { AuthorizationCode, Grant } from '../oauth/grants/grant.js'
import type { PolledCodes } from '../oauth/grants/poll-decision.js'
import type { RecentMap } from '../recent-map.js'
import type { DeviceCodeStore, OneTimeStore, RefreshFamilyStore, RevocationStore } from '../storage/ports.js'
import type { AuthorizationCodes, RefreshTokens } from './contract.js'

const isOver = (revocations: RevocationStore, { authentication, ...grant }: Grant): Promise<boolean> =>
  isGrantOver(revocations, { ...grant, authTime: authentication.auth_time })

/** The form of our codes; anything else is not looked up. */
const codeForm = /^[\w-]{43}$/

export const readCodes = (
  store: OneTimeStore<AuthorizationCode>,
  revocations: RevocationStore,
): AuthorizationCodes => ({
  async find(code) {
    if (!codeForm.test(code)) return undefined
    const id = hashOpaqueToken(code)
    // For an unused code, revocation of the grant is checked when it is redeemed, together with other checks.
    const unused = await store.findUnused(id)
    if (unused !== undefined) return unused
    // A used code is still found, so that its second use can revoke the grant; once that is revoked, the code is not
    // found.
    const used = await store.find(id)
    return used && (await isOver(revocations, used)) ? undefined : used
  },
})

export const readPolledCodes = <Request>(
  store: DeviceCodeStore<Request, Grant>,
  revocations: RevocationStore,
): PolledCodes<Request> => ({
  async find(code) {
    const found = isOpaqueToken(code) ? await store.find(hashOpaqueToken(code)) : undefined
    // As for codes, revocation of an unused one is checked when it is redeemed.
    const used = found?.state === 'redeemed' ? found.approval : undefined
    return used && (await isOver(revocations, used)) ? undefined : found
  },
  poll: (code) => store.poll(hashOpaqueToken(code)),
})

/**
 * Revocation of the grant is checked when the token is redeemed. A grant already known to be revoked costs no
 * signature.
 */
export const readRefreshTokens = (
  families: RefreshFamilyStore<Grant>,
  revoked: Pick<RecentMap<string, string>, 'get'>,
): RefreshTokens => ({
  async find(token) {
    const read = readRefreshToken(token)
    const grant = read && (await families.find(read.family))?.grant
    return grant && revoked.get(grant.grantId) === undefined ? grant : undefined
  },
})
