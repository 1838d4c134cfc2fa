import { readSection } from './account-visitor.js'
import { webClient } from './server.js'

type Json = Record<string, unknown>

/** A configuration with passkeys beside passwords, at a name: no passkey is for an address. */
export const withPasskeys = (configuration: Json): Json => ({
  ...configuration,
  issuer: String(configuration['issuer']).replace('127.0.0.1', 'localhost'),
  plugins: [
    ...(configuration['plugins'] as readonly Json[]),
    { use: 'plugins/login/passkey', options: { rp_name: 'Example Bank' } },
  ],
})

/** What a page asks the browser for. */
export const passkeyOptions = (html: string): Json => {
  const [, written = ''] = /data-options="([^"]*)"/.exec(html) ?? []
  return JSON.parse(written.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&amp;', '&')) as Json
}

/** What the page of passkeys gives to its script: fields of the form, and what the browser is asked. */
export const passkeySetup = (html: string) => {
  const { csrf, values } = readSection(html, 'passkeys')
  return { fields: { csrf, challenge: values('challenge')[0] ?? '' }, options: passkeyOptions(html) }
}

/** A configuration with one-time passwords after passwords. */
export const withTotp = (configuration: Json): Json => ({
  ...configuration,
  plugins: [
    ...(configuration['plugins'] as readonly Json[]),
    { use: 'plugins/login/totp', options: { sealing_key: 'A'.repeat(43) } },
  ],
})

/** The `acr` of a password and a passkey together. */
export const strongAcr = 'urn:example:password-and-passkey'

/** Where that client is: a browser ends up at a page that there is. */
export const clientOf = (issuer: unknown): string => `${String(issuer)}/`

/** Passkeys, one-time passwords, and a client that can ask for more than a password. */
export const withFactors = (plain: Json): Json => {
  const written = withTotp(withPasskeys(plain))
  const client = { ...webClient, redirect_uris: [clientOf(written['issuer'])], consent: 'implicit' }
  return {
    ...written,
    clients: [client],
    acr_values_supported: [
      { acr: 'urn:example:password', methods: ['pwd'] },
      { acr: strongAcr, methods: ['pwd', 'hwk'] },
    ],
  }
}

/** A virtual authenticator of Chromium that has passkeys, and whose person is there and has proved it. */
export const passkeyAuthenticator = {
  ...({ protocol: 'ctap2', transport: 'internal' } as const),
  ...{ hasResidentKey: true, hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true },
}
