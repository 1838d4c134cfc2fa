import { z } from 'zod'
import { text } from './fields.js'
import { pem, port, tls } from './sections.js'

const bundle = pem(/-----BEGIN CERTIFICATE-----/, 'certificates')

/** Mutual TLS (RFC 8705). The certificate comes from a listener of our own, or from the header of a proxy; never from both. */
export const mtls = z
  .strictObject({
    /** A second listener that asks for a certificate. Its own certificate and key; absent: those of `listen.tls`. */
    listen: z.strictObject({ host: text.optional(), port, tls: tls.optional() }).optional(),
    /** Where machines reach the endpoints with a certificate: what `mtls_endpoint_aliases` is derived from (RFC 8705 §5). */
    base_url: z
      .string()
      .refine(
        (value) => URL.canParse(value) && value === new URL(value).origin && value.startsWith('https:'),
        'must be an https URL without a path, in lower case, the host as xn--… if it has other letters, such as https://mtls.bank.example',
      )
      .optional(),
    /** Roots of the certificates of clients with `tls_client_auth`. */
    trust_anchors: z.array(bundle).default([]),
    /** What clients may leave out between a root and their own certificate. */
    intermediates: z.array(bundle).default([]),
    /** The proxy has verified the chain to these roots: it is not verified again. */
    verified_by_proxy: z.boolean().default(false),
  })
  .optional()

/** The header in which a trusted proxy hands on the certificate of the client. */
export const clientCertificateHeader = z
  .strictObject({
    name: text
      .regex(/^[A-Za-z\d!#$%&'*+.^_`|~-]{1,64}$/, 'must be the name of a header')
      .transform((name) => name.toLowerCase()),
    format: z.enum(['rfc9440', 'pem-urlencoded', 'der-base64', 'xfcc']),
  })
  .optional()
