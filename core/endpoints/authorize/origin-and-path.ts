import { hideTokens } from '../../opaque-token.js'

const maxLength = 200

/**
 * Of a URI that was sent: enough to find a typing error, and nothing of its query, fragment or userinfo, which may be
 * secret, and no token in its path. At most 200 characters; undefined when it is no URI.
 */
export const originAndPath = (uri: string): string | undefined => {
  if (!URL.canParse(uri)) return undefined
  const { protocol, host, pathname } = new URL(uri)
  return `${protocol}${host === '' ? '' : `//${host}`}${hideTokens(pathname)}`.slice(0, maxLength)
}
