import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { loadConfig } from '../../config/load.js'
import type { Administration, Operator } from '../../core/administration/administration.js'
import { collections, type Collections } from '../../core/collections/collections.js'
import { openQuotas } from '../../core/collections/quotas.js'
import type { AuditEvent } from '../../core/observe/audit.js'
import { openEmbedded } from '../../stores/embedded/open-embedded.js'
import { Unavailable } from '../../core/unavailable.js'
import { configWith, minimal } from './server/config-files.js'

/** When it is in a test of an administration: milliseconds since the epoch. */
export const testNow = 1_800_000_000_000

/** An operator who is not a command of this host. */
export const operator: Operator = { via: 'http', os_user: 'olga', host: 'console' }

/** An administration with a store of its own, for the length of the test. */
export interface TestAdministration {
  readonly administration: Administration
  readonly stored: Collections
  /** What the audit log has, in order. */
  readonly events: readonly AuditEvent[]
  /** The audit log has room for so many events from now on. */
  limitAudit(left: number): void
  /** How often a change was made that the audit log has only the beginning of. */
  readonly unrecorded: () => number
}

/** `extra` is appended to the least configuration; `shared`: the stores are those of a service, which has shares. */
export const openTestAdministration = async ({
  extra = '',
  shared = false,
}: { readonly extra?: string; readonly shared?: boolean } = {}): Promise<TestAdministration> => {
  const config = await loadConfig(await configWith(minimal(extra)), {})
  const folder = await mkdtemp(join(tmpdir(), 'signet-administration-'))
  const clock = () => testNow
  const backend = await openEmbedded({ path: folder, clock })
  const both = { records: backend, ephemeral: backend }
  const opened = shared ? openQuotas(both, clock) : undefined
  onTestFinished(async () => {
    await opened?.[Symbol.asyncDispose]()
    await backend[Symbol.asyncDispose]()
    await rm(folder, { recursive: true })
  })
  const events: AuditEvent[] = []
  let left = Infinity
  let missing = 0
  const administration: Administration = {
    config,
    stores: {
      ...both,
      ...(opened && { shares: opened.shares }),
      [Symbol.asyncDispose]: () => backend[Symbol.asyncDispose](),
    },
    clock,
    audit: {
      record: (...added) => {
        if (left < added.length)
          return Promise.reject(new Unavailable('audit', 'no', 'the audit log cannot be written'))
        left -= added.length
        events.push(...added)
        return Promise.resolve()
      },
    },
    unrecorded: () => void missing++,
  }
  return {
    administration,
    stored: collections(administration.stores),
    events,
    limitAudit: (count) => void (left = count),
    unrecorded: () => missing,
  }
}
