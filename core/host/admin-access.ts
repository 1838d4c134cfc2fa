import type { Config } from '../../config/schema.js'
import type { Clock } from '../clock.js'
import type { AdminCredentials } from '../http/admin.js'
import type { AppOptions } from '../http/app.js'
import { createConnectionCertificates, createHeaderCertificates } from '../http/client-certificate.js'
import { createHandoffGuard } from '../http/handoff-guard.js'
import type { ListenOptions } from '../http/server.js'
import type { Log } from '../observe/log.js'

export interface AdminAccess {
  /** Peers whose `X-Forwarded-For` is believed. The process above workers passes on the address of its caller. */
  readonly trustedProxies: readonly string[]
  readonly credentials: AdminCredentials
  /** The path of `admin.base_url`, below which a proxy may pass requests on. */
  readonly basePath: string
  readonly app: Pick<AppOptions, 'certificates'>
  readonly listener: Pick<ListenOptions, 'host' | 'port' | 'tls' | 'clientCertificates'>
}

export const revealed = (tls: Config['listen']['tls']) => tls && { cert: tls.cert, key: tls.key.reveal() }

/** The path of `admin.base_url` or the issuer, before every path of the listener. */
export const basePathOf = (baseUrl: string | undefined): string =>
  baseUrl === undefined ? '' : new URL(baseUrl).pathname.replace(/\/$/, '')

/** Returns the permissions on the admin listener, as the configuration defines them. */
export const adminAccess = (
  {
    admin: { host, port, token, tls, handoff, base_url: baseUrl },
    operators,
    trusted_proxies: trustedProxies,
  }: Pick<Config, 'admin' | 'operators' | 'trusted_proxies'>,
  options: { readonly clock: Clock; readonly log: Log; readonly isWorker?: boolean },
): AdminAccess => {
  const subjects = handoff?.clients ?? []
  const asksForCertificates = subjects.length > 0 || (tls !== undefined && operators.trust_anchors.length > 0)
  const connections = asksForCertificates ? createConnectionCertificates(options.clock) : undefined
  const forHandoffs = handoff && {
    token: handoff.token?.reveal(),
    ...(subjects.length > 0 && { certificates: { trustAnchors: handoff.trust_anchors, subjects } }),
  }
  return {
    trustedProxies: options.isWorker ? ['unix'] : trustedProxies,
    credentials: {
      // The process above a worker has checked the token of what it asks on its own behalf.
      token: options.isWorker ? undefined : token?.reveal(),
      ...(forHandoffs && { handoffGuard: createHandoffGuard(forHandoffs, options) }),
    },
    basePath: basePathOf(baseUrl),
    app: { certificates: options.isWorker ? passedOnCertificates() : connections?.read },
    listener: {
      ...{ host, port, tls: revealed(tls) },
      ...(connections && { clientCertificates: connections }),
    },
  }
}

/** The certificates that the process above a worker passes on (RFC 9440 §2). Only that process opens the socket. */
const passedOnCertificates = () =>
  createHeaderCertificates({
    ...{ name: 'client-cert', format: 'rfc9440', trustedProxies: ['unix'] },
    ignored: () => undefined,
  })
