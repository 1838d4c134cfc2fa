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

/** What endpoints lie under: the issuer, and its alias where there is one. */
export const endpointBases = (config: Pick<Config, 'issuer' | 'mtls'>): readonly string[] => {
  const alias = mtlsAlias(config)
  return alias === undefined ? [config.issuer] : [config.issuer, alias]
}
