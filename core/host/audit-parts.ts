import type { DependencyContainer } from 'tsyringe'
import type { Config } from '../../config/schema.js'
import type { Disposables } from '../disposables.js'
import { createRefusals } from '../endpoints/refusals.js'
import { createAuditReader } from '../observe/audit-search/audit-reader.js'
import { tokens } from './injection-tokens.js'
import type { HostProcess } from './process.js'

/** Registers the audit log, what writes refusals to it, and what searches it. */
export const registerAudit = (
  container: DependencyContainer,
  { audit, auditFile }: HostProcess,
  { audit: written }: Pick<Config, 'audit'>,
  disposables: Disposables,
): void => {
  container.register(tokens.audit, { useValue: audit })
  const auditReader = written === 'stdout' ? undefined : disposables.keep(createAuditReader(written.file))
  container.register(tokens.auditReader, { useFactory: () => auditReader })
  const limits = container.resolve(tokens.rateLimits)
  // It is closed before the audit log, to which it writes its counts.
  const refusals = disposables.keep(createRefusals({ audit, hasRoom: () => auditFile.hasRoom(), limits }))
  container.register(tokens.refusals, { useValue: refusals })
}
