import type { MetadataProblem } from '../clients/metadata-rules.js'
import { OAuthError } from '../errors.js'

const maxListed = 3

/** `error_description` must be printable ASCII without quotes and backslashes (RFC 6749 §5.2). */
const ascii = (text: string): string =>
  text.replaceAll('§', 'section ').replaceAll(/[^\x20-\x21\x23-\x5B\x5D-\x7E]/g, "'")

/**
 * Makes the refusal of metadata (RFC 7591 §3.2.2). Paths and messages consist of constant texts and numbers, and
 * repeat nothing that was sent. `isShaped`: the redirect URIs are strings, so a problem with them is one of their
 * values.
 */
export const metadataRefused = (problems: readonly MetadataProblem[], isShaped = false): OAuthError => {
  const listed = problems.slice(0, maxListed).map(({ path, message }) => `${path} ${message}`)
  const more = problems.length > maxListed ? `; and ${String(problems.length - maxListed)} more` : ''
  const description = ascii(`${listed.join('; ')}${more}`)
  const isOfRedirect = isShaped && problems.some(({ path }) => /^redirect_uris\b/.test(path))
  return new OAuthError(isOfRedirect ? 'invalid_redirect_uri' : 'invalid_client_metadata', description)
}
