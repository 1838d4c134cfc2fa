import { isIP } from 'node:net'
import { z } from 'zod'
import { Secret } from './secret.js'

/** The signing algorithms that a configuration may name (RFC 7518 §3.1, RFC 8037 §3.1). */
export const signingAlgs = ['RS256', 'RS384', 'RS512', 'PS256', 'ES256', 'ES384', 'EdDSA'] as const

export const signingAlg = z
  .enum(signingAlgs, {
    error: (issue) => {
      if (typeof issue.input !== 'string') return undefined
      if (/^HS\d+$/i.test(issue.input))
        return `is symmetric: anyone who can verify such a token can also make one; use one of ${signingAlgs.join(', ')}`
      if (/^none$/i.test(issue.input)) return `means no signature at all; use one of ${signingAlgs.join(', ')}`
      return undefined
    },
  })
  .meta({ title: 'algorithm' })

const tenYears = 315_360_000

/** A duration in whole seconds. */
export const seconds = (fallback: number, { min = 1, max = tenYears } = {}) =>
  z.int().min(min).max(max).default(fallback)

export const text = z.string().min(1, 'must not be empty')

/** Text stored as a `Secret`. */
export const secret = text.transform((value) => new Secret(value)).meta({ title: 'secret text' })

/** A key that subjects are computed with (OIDC Core §8.1). It has as many bytes as the hash. */
export const pairwiseKey = text
  .refine((value) => Buffer.byteLength(value) >= 32, 'must have 32 bytes or more: openssl rand -base64 32')
  .transform((value) => new Secret(value))
  .meta({ title: 'secret text' })

export const unavailable = 'not available in this version'

/** A member of the contract that this version does not implement. Refusing it is better than ignoring it. */
export const notAvailable = z.null({ error: unavailable }).optional()

/** A claim by its name. */
export const claimName = z
  .string()
  .regex(/^[\x21-\x7E]{1,128}$/, 'must be 1 to 128 printable characters without blanks')
  .meta({ title: 'claim' })

/** RFC 6749 §3.3. */
export const scopeToken = z
  .string()
  .regex(
    /^[\x21\x23-\x5B\x5D-\x7E]+$/,
    'must be a scope name: printable, without blanks, quotes and backslashes (RFC 6749 §3.3)',
  )
  .meta({ title: 'scope' })

/** True for names and addresses of the loopback interface. */
export const isLoopbackHost = (host: string): boolean =>
  host === 'localhost' || host === '::1' || host === '[::1]' || (isIP(host) === 4 && host.startsWith('127.'))

/** A path means a unix socket: `/run/signet.sock`, `./signet.sock`. */
export const isSocketPath = (host: string): boolean => host.startsWith('/') || host.startsWith('./')

const checkIssuer = (value: string): string | undefined => {
  if (!URL.canParse(value)) return 'must be an absolute URL'
  if (/[^\0-\x7f]/.test(value)) return 'must be ASCII: write the host as xn--… (RFC 5891 §4.4), other letters as %xx'
  const url = new URL(value)
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'must be an https URL'
  if (url.protocol === 'http:' && !isLoopbackHost(url.hostname))
    return 'must be https: http is for loopback issuers only (localhost, 127.0.0.0/8, [::1])'
  if (url.username !== '' || url.password !== '') return 'must not carry credentials'
  if (/[?#]/.test(value)) return 'must have no query and no fragment (OpenID Connect Discovery §3)'
  if (value.endsWith('/')) return 'must not end with a slash'
  const canonical = url.origin + (url.pathname === '/' ? '' : url.pathname)
  if (canonical !== value || url.pathname.includes('//'))
    return 'must be written canonically: lower-case host, no default port, no empty or dot segments'
  return undefined
}

export const issuer = z
  .string()
  .superRefine((value, context) => {
    const message = checkIssuer(value)
    if (message !== undefined) context.addIssue({ code: 'custom', message })
  })
  .meta({ title: 'URL' })

/** An absolute URI without a fragment: a resource (RFC 8707 §2). */
export const resourceUri = z
  .string()
  .refine(
    (value) => URL.canParse(value) && !value.includes('#'),
    'must be an absolute URI without fragment (RFC 8707 §2)',
  )
  .meta({ title: 'URI' })

export const trustedPeer = z
  .string()
  .refine((value) => {
    if (value === 'unix') return true
    const [address = '', prefix = '', ...rest] = value.split('/')
    const family = isIP(address)
    return family !== 0 && rest.length === 0 && /^\d{1,3}$/.test(prefix) && Number(prefix) <= (family === 4 ? 32 : 128)
  }, 'must be a network in CIDR form, such as 10.0.0.0/8, or unix: everything that connects to the unix socket')
  .meta({ title: 'CIDR or `unix`' })

/** A time with its zone, as milliseconds since the epoch. */
export const instant = z.iso
  .datetime({ offset: true, error: 'must be a time with its zone, such as 2026-11-20T00:00:00Z' })
  .transform((value) => Date.parse(value))
  .meta({ title: 'time with zone' })

/** An address that people or this service follow. */
export const link = z
  .string()
  .superRefine((value, context) => {
    const fail = (message: string) => context.addIssue({ code: 'custom', message })
    if (!URL.canParse(value)) return fail('must be an absolute URL')
    const { protocol, hostname, username, password } = new URL(value)
    if (protocol !== 'https:' && !(protocol === 'http:' && isLoopbackHost(hostname)))
      return fail('must be an https URL (http is for loopback only)')
    if (username !== '' || password !== '') fail('must not carry credentials')
  })
  .meta({ title: 'https URL' })
