import type { Middleware } from './exchange.js'

/** `images` are further origins from which a page may load pictures. */
export const pagePolicy = (images: readonly string[] = []): string =>
  [
    "default-src 'none'",
    "style-src 'self'",
    "script-src 'self'",
    ["img-src 'self'", ...images].join(' '),
    "connect-src 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; ')

/**
 * There is no `form-action`, because browsers apply it to the redirects that follow a form, and those of sign-in and
 * consent end at any client's redirect URI, in any scheme. There is no Cross-Origin-Opener-Policy, because it cuts
 * `window.opener`, by which a client that signs people in through a pop-up gets its answer.
 */
const pageHeaders = {
  'Content-Security-Policy': pagePolicy(),
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
  'Cache-Control': 'no-store',
}

/** With `secure` the issuer is https, so browsers must never use http again (RFC 6797). */
export const securityHeaders = (secure: boolean): Middleware => {
  const always = ['X-Content-Type-Options', 'nosniff']
  if (secure) always.push('Strict-Transport-Security', 'max-age=31536000')
  return (ctx, next) => {
    ctx.state.headers.push(...always)
    ctx.state.pageHeaders = pageHeaders
    return next()
  }
}
