import type { Salvaged } from './explain.js'
import type { Config } from './schema.js'

/** Is there a way for a client's certificate to come in? */
export const hasClientCertificates = ({
  mtls,
  client_certificate_header: header,
}: Pick<Salvaged<Config>, 'mtls' | 'client_certificate_header'>): boolean =>
  mtls?.listen !== undefined || header !== undefined

/** Where clients reach the endpoints with a certificate, as the issuer is where they reach them without (RFC 8705 §5). */
export const mtlsAlias = ({ issuer, mtls }: Pick<Config, 'issuer' | 'mtls'>): string | undefined =>
  mtls?.base_url === undefined ? undefined : `${mtls.base_url}${new URL(issuer).pathname.replace(/\/$/, '')}`
