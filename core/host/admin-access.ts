import type { Config } from '../../config/schema.js'
import type { Clock } from '../clock.js'
import type { AdminCredentials } from '../http/admin.js'
import type { AppOptions } from '../http/app.js'
import { createConnectionCertificates } from '../http/client-certificate.js'
import { createHandoffGuard } from '../http/handoff-guard.js'
import type { ListenOptions } from '../http/server.js'
import type { Log } from '../observe/log.js'

export interface AdminAccess {
  readonly credentials: AdminCredentials
  readonly app: Pick<AppOptions, 'certificates'>
  readonly listener: Pick<ListenOptions, 'host' | 'port' | 'tls' | 'clientCertificates'>
}

export const revealed = (tls: Config['listen']['tls']) => tls && { cert: tls.cert, key: tls.key.reveal() }

/** Returns the permissions on the admin listener, as the configuration defines them. */
export const adminAccess = (
  { admin: { host, port, token, tls, handoff } }: Pick<Config, 'admin'>,
  options: { readonly clock: Clock; readonly log: Log },
): AdminAccess => {
  const subjects = handoff?.clients ?? []
  const connections = subjects.length > 0 ? createConnectionCertificates(options.clock) : undefined
  const forHandoffs = handoff && {
    token: handoff.token?.reveal(),
    ...(connections && { certificates: { trustAnchors: handoff.trust_anchors, subjects } }),
  }
  return {
    credentials: {
      token: token?.reveal(),
      ...(forHandoffs && { handoffGuard: createHandoffGuard(forHandoffs, options) }),
    },
    app: { certificates: connections?.read },
    listener: {
      ...{ host, port, tls: revealed(tls) },
      ...(connections && { clientCertificates: connections }),
    },
  }
}
