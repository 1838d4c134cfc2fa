import { z } from 'zod'
import { text } from './fields.js'
import { pem, port, tls } from './sections.js'

const bundle = pem(/-----BEGIN CERTIFICATE-----/, 'certificates')

/** Mutual TLS (RFC 8705). The certificate comes from our own listener or from a proxy's header, never from both. */
export const mtls = z
  .strictObject({
    listen: z
      .strictObject({
        host: text.optional().describe('As `listen.host`. Default: that of `listen`.'),
        port: port.describe('As `listen.port`.'),
        tls: tls.optional().describe('As `listen.tls`. Default: that of `listen`.'),
      })
      .optional()
      .describe('A second listener, which asks for a client certificate.'),
    /**
     * Where clients reach the endpoints with a certificate; `mtls_endpoint_aliases` is derived from it (RFC 8705 §5).
     */
    base_url: z
      .string()
      .refine(
        (value) => URL.canParse(value) && value === new URL(value).origin && value.startsWith('https:'),
        'must be an https URL without a path, in lower case, the host as xn--… if it has other letters, such as https://mtls.bank.example',
      )
      .optional()
      .describe(
        'Where machines reach the endpoints with a certificate. Absent: discovery names no aliases. `https://mtls.bank.example`',
      ),
    trust_anchors: z
      .array(bundle)
      .default([])
      .describe('Authorities of the certificates for `tls_client_auth`. `[{ $file: tls/client-ca.pem }]`'),
    intermediates: z.array(bundle).default([]).describe('Authorities below them that clients need not send.'),
    verified_by_proxy: z
      .boolean()
      .default(false)
      .describe('The proxy has verified the certificate: Signet compares its names alone.'),
  })
  .optional()

/** The header in which a trusted proxy forwards the client's certificate. */
export const clientCertificateHeader = z
  .strictObject({
    name: text
      .regex(/^[A-Za-z\d!#$%&'*+.^_`|~-]{1,64}$/, 'must be the name of a header')
      .transform((name) => name.toLowerCase())
      .describe('Its name. `x-client-cert`'),
    format: z
      .enum(['rfc9440', 'pem-urlencoded', 'der-base64', 'xfcc'])
      .describe('How the certificate is written in it.'),
  })
  .optional()
