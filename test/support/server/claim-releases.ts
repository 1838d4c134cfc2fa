import { createClaimReleases } from '../../../core/tokens/claim-releases.js'

/** Of a deployment that has the scopes of OpenID Connect Core §5.4 and nothing else. */
export const standardReleases = createClaimReleases({
  scopes: ['profile', 'email', 'address', 'phone'].map((name) => ({ name, claims: [] })),
  claims: {},
})
