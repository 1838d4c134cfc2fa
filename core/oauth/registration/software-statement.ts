import { epochSeconds, type Clock } from '../../clock.js'
import { findTimeFault } from '../../jose/claim-times.js'
import { parseCompactJws, type CompactJws } from '../../jose/compact-jws.js'
import type { JwsAlg } from '../../jose/jwk.js'
import { readJwtHeader } from '../../jose/jwt-header.js'
import { isSignedByAny } from '../../jose/verify-signature.js'
import type { JsonObject, JsonValue } from '../../json.js'
import type { IssuerKeys, KeyIssuer } from '../../outbound/issuer-keys.js'
import { OAuthError } from '../errors.js'
import { readMetadata } from './read-metadata.js'

/** An issuer whose statements about software are trusted. */
export interface StatementIssuer extends KeyIssuer {
  readonly signingAlgs: readonly JwsAlg[]
  /** Seconds since `iat`. */
  readonly maxAgeSeconds?: number | undefined
  /** The claims that hold members of client metadata under another name. */
  readonly claims: Readonly<Record<string, string>>
}

export interface SoftwareStatementOptions {
  readonly issuers: readonly StatementIssuer[]
  readonly keys: IssuerKeys
  /** The issuer of this server, for statements that name an audience. */
  readonly issuer: string
  readonly clock: Clock
  readonly toleranceSeconds: number
}

/** Statements of third parties about software that registers here (RFC 7591 §2.3). */
export interface SoftwareStatements {
  /**
   * Returns the metadata with the values of its statement in place of the client's own (RFC 7591 §3.1.1). `known`:
   * the statement that the client was registered with. It applies when the client sends none, and was verified at
   * that time. Throws `invalid_software_statement`, `unapproved_software_statement`, `invalid_client_metadata`,
   * `Unavailable`.
   */
  apply(metadata: JsonObject, isRequired: boolean, known?: string): Promise<JsonObject>
}

const refused = (reason: string, description = 'The software statement is invalid.'): OAuthError =>
  new OAuthError('invalid_software_statement', description, { reason: `software statement: ${reason}` })

/** The keys of a client must come from one source. */
const withoutKeys = ({ jwks: _set, jwks_uri: _uri, ...others }: JsonObject): JsonObject => others

const listOf = (value: JsonValue | undefined): readonly JsonValue[] => (value === undefined ? [] : [value].flat())

export const createSoftwareStatements = (options: SoftwareStatementOptions): SoftwareStatements => {
  const { keys, issuer: self, clock, toleranceSeconds } = options
  const issuers = new Map(options.issuers.map((one) => [one.issuer, one]))

  const parse = (text: JsonValue): { readonly jws: CompactJws; readonly by: StatementIssuer } => {
    const jws = typeof text === 'string' ? parseCompactJws(text) : undefined
    if (jws === undefined) throw refused('malformed')
    const { iss } = jws.payload
    const by = typeof iss === 'string' ? issuers.get(iss) : undefined
    if (by !== undefined) return { jws, by }
    throw new OAuthError('unapproved_software_statement', 'The issuer of the software statement is not trusted here.', {
      reason: 'software statement: unknown issuer',
    })
  }

  const findClaimFault = ({ payload }: CompactJws, { maxAgeSeconds }: StatementIssuer): string | undefined => {
    const { iat, aud } = payload
    // Statements of directories have no `exp`.
    const fault = findTimeFault({ exp: Number.MAX_SAFE_INTEGER, ...payload }, { clock, toleranceSeconds })
    if (fault !== undefined) return fault
    if (maxAgeSeconds !== undefined && (typeof iat !== 'number' || iat + maxAgeSeconds <= epochSeconds(clock)))
      return 'too old'
    return aud === undefined || listOf(aud).includes(self) ? undefined : 'for another audience'
  }

  const verify = async (jws: CompactJws, by: StatementIssuer): Promise<void> => {
    const wanted = readJwtHeader(jws.header, { types: [undefined, 'JWT'], accepted: by.signingAlgs })
    if (typeof wanted === 'string') throw refused(wanted)
    const fault = findClaimFault(jws, by)
    if (fault !== undefined) throw refused(fault)
    const fitting = await keys.find(by, wanted)
    if (fitting.length === 0) throw refused('no key of its issuer fits')
    if (!(await isSignedByAny(jws, fitting))) throw refused('wrong signature')
  }

  /** Returns the statement's metadata, under the names of metadata. */
  const metadataOf = (stated: JsonObject, { claims }: StatementIssuer): JsonObject => {
    const renamed = Object.entries(claims).flatMap(([member, claim]) =>
      Object.hasOwn(stated, claim) ? [[member, stated[claim]] as const] : [],
    )
    return readMetadata({ ...stated, ...Object.fromEntries(renamed), software_statement: null })
  }

  return {
    async apply({ software_statement: sent, ...metadata }, isRequired, known) {
      // If no issuer is trusted, statements are not understood and so ignored (RFC 7591 §2.3).
      const text = issuers.size === 0 ? undefined : (sent ?? known)
      if (text === undefined) {
        if (isRequired) throw refused('none', 'A software statement is required.')
        return metadata
      }
      const { jws, by } = parse(text)
      if (text !== known) await verify(jws, by)
      const stated = metadataOf(jws.payload, by)
      const isOfKeys = 'jwks' in stated || 'jwks_uri' in stated
      return { ...(isOfKeys ? withoutKeys(metadata) : metadata), ...stated, software_statement: text }
    },
  }
}
