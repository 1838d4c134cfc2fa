import type { FindOperatorOfCertificate } from './certificates.js'
import type { DeviceApprovals } from './device-approval.js'
import type { OperatorDirectory } from './directory.js'
import type { OperatorLink } from './links.js'
import type { OneTimeStore } from '../storage/ports.js'
import type { OperatorSignIn } from './sign-ins.js'
import type { OperatorSignIns } from './sign-in.js'
import type { OperatorSessions } from './sessions.js'
import type { FindSite } from './site.js'

/** The directory of operators and the ways in which they authenticate, by the configuration in force and the store. */
export interface OperatorParts {
  readonly directory: OperatorDirectory
  readonly sessions: OperatorSessions
  /** Undefined where no device is enrolled. */
  readonly devices: DeviceApprovals | undefined
  readonly site: FindSite
  readonly certificates: FindOperatorOfCertificate
  readonly claimedRoles: () => Readonly<Record<string, string>>
  readonly signIns: OperatorSignIns
  readonly begun: OneTimeStore<OperatorSignIn>
  readonly links: OneTimeStore<OperatorLink>
  /** The issuer of `operators.oidc`, if there is one. */
  readonly oidc: () => string | undefined
}
