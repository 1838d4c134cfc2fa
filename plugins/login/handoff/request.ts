import { randomUUID } from 'node:crypto'
import { epochSeconds, type JsonObject, type Services } from '../../../core/api/index.js'

/** Seconds for which the service may accept the request. */
const requestSeconds = 300

export const list = (values: readonly string[]): string | undefined =>
  values.length === 0 ? undefined : values.join(' ')

export interface RequestOptions {
  /** The id of the sign-in method. */
  readonly id: string
  /** The URL of the service. */
  readonly url: string
}

/** Signs the request to the service, and returns the URL that takes it there. Undefined members are left out. */
export const createHandoffRequest =
  (
    { id, url: audience }: RequestOptions,
    { clock, issuer, signedRequests }: Pick<Services, 'clock' | 'issuer' | 'signedRequests'>,
  ) =>
  async (asked: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<string> => {
    const iat = epochSeconds(clock)
    const described = JSON.parse(JSON.stringify(asked)) as JsonObject
    // With `jti` the service can detect a link that is opened twice.
    const claims = { iss: issuer, aud: audience, jti: randomUUID(), iat, exp: iat + requestSeconds, ...described }
    const url = new URL(audience)
    url.searchParams.set('request', await signedRequests.sign('handoff', claims, { by: id, signal }))
    return url.href
  }
