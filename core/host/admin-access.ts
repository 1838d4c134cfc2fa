import type { Config } from '../../config/schema.js'
import type { Clock } from '../clock.js'
import type { AdminCredentials } from '../http/admin.js'
import type { AppOptions } from '../http/app.js'
import { createConnectionCertificates } from '../http/client-certificate.js'
import { createHandoffGuard } from '../http/handoff-guard.js'
import type { ListenOptions } from '../http/server.js'
import type { Log } from '../observe/log.js'

export interface AdminAccess {
  /** Peers whose `X-Forwarded-For` is believed. The process above workers passes on the address of its caller. */
  readonly trustedProxies: readonly string[]
  readonly credentials: AdminCredentials
  readonly app: Pick<AppOptions, 'certificates'>
  readonly listener: Pick<ListenOptions, 'host' | 'port' | 'tls' | 'clientCertificates'>
}

export const revealed = (tls: Config['listen']['tls']) => tls && { cert: tls.cert, key: tls.key.reveal() }

/** Returns the permissions on the admin listener, as the configuration defines them. */
export const adminAccess = (
  {
    admin: { host, port, token, tls, handoff },
    trusted_proxies: trustedProxies,
  }: Pick<Config, 'admin' | 'trusted_proxies'>,
  options: { readonly clock: Clock; readonly log: Log; readonly isWorker?: boolean },
): AdminAccess => {
  const subjects = handoff?.clients ?? []
  const connections = subjects.length > 0 ? createConnectionCertificates(options.clock) : undefined
  const forHandoffs = handoff && {
    token: handoff.token?.reveal(),
    ...(connections && { certificates: { trustAnchors: handoff.trust_anchors, subjects } }),
  }
  return {
    trustedProxies: options.isWorker ? ['unix'] : trustedProxies,
    credentials: {
      // The process above a worker has checked the token of what it asks on its own behalf.
      token: options.isWorker ? undefined : token?.reveal(),
      ...(forHandoffs && { handoffGuard: createHandoffGuard(forHandoffs, options) }),
    },
    app: { certificates: connections?.read },
    listener: {
      ...{ host, port, tls: revealed(tls) },
      ...(connections && { clientCertificates: connections }),
    },
  }
}
