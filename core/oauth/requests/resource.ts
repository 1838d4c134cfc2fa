import type { Client } from '../clients/client.js'
import { OAuthError } from '../errors.js'

const refuse = (reason: string): never => {
  throw new OAuthError('invalid_target', 'The resource is invalid, unknown or not allowed to this client.', { reason })
}

/**
 * Returns the values of `resource` without repetitions (RFC 8707 §2): absolute URIs without fragment that the client
 * may request tokens for. Throws `invalid_target`.
 */
export const checkResources = (
  resources: readonly string[],
  client: Client,
  defaultAudience: string,
): readonly string[] => {
  if (resources.length === 0) return resources
  for (const resource of resources) {
    if (!URL.canParse(resource) || resource.includes('#')) refuse('resource is not an absolute URI without fragment')
    if (resource !== defaultAudience && !client.allowed_audiences.includes(resource)) refuse('resource not allowed')
  }
  return [...new Set(resources)]
}
