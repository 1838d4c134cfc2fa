import type { Salvaged } from './explain.js'
import type { Config } from './schema.js'

/** Whether client certificates can reach this service. */
export const hasClientCertificates = ({
  mtls,
  client_certificate_header: header,
}: Pick<Salvaged<Config>, 'mtls' | 'client_certificate_header'>): boolean =>
  mtls?.listen !== undefined || header !== undefined

/** The counterpart of the issuer for clients that use a certificate (RFC 8705 §5). */
export const mtlsAlias = ({ issuer, mtls }: Pick<Config, 'issuer' | 'mtls'>): string | undefined =>
  mtls?.base_url === undefined ? undefined : `${mtls.base_url}${new URL(issuer).pathname.replace(/\/$/, '')}`

/** The base URLs of endpoints: the issuer, and its alias if there is one. */
export const endpointBases = (config: Pick<Config, 'issuer' | 'mtls'>): readonly string[] => {
  const alias = mtlsAlias(config)
  return alias === undefined ? [config.issuer] : [config.issuer, alias]
}
