import type { Config } from '../../config/schema.js'
import type { Problem } from '../../config/problems.js'
import type { CheckedConfiguration } from '../checks/check-configuration.js'
import { compareConfigurations, type ListChange } from '../checks/config-changes.js'
import type { JsonObject } from '../json.js'

/** Names of options that hold a secret, however a plugin writes them. */
const secretName = /secret|password|passphrase|\bpin\b|token|sealing|private|credential|api_?key/i

const mask = '[secret]'

/** Hides the password of a URL such as that of a database. */
const withoutPassword = (text: string): string =>
  text.replace(/^([a-z][a-z\d+.-]*:\/\/[^/:@]*):[^/@]*@/i, `$1:${mask}@`)

const maskOptions = (name: string, value: unknown): unknown => {
  if (typeof value !== 'string') return value
  return secretName.test(name) ? mask : withoutPassword(value)
}

/**
 * The configuration in force with its defaults, for operators: secrets are masked, and the accounts, which are data of
 * people, are only counted.
 */
export const maskConfiguration = (config: Config): JsonObject => {
  const { accounts, ...rest } = JSON.parse(JSON.stringify(config, maskOptions)) as JsonObject
  return { ...rest, accounts: Array.isArray(accounts) ? accounts.length : 0 }
}

/** How the file on the host differs from what runs. */
export interface ConfigurationDifference {
  /** The names of items by section that a reload would change. */
  readonly changes: Readonly<Record<string, { added: string[]; removed: string[]; changed: string[] }>>
  /** The paths of what needs a restart. */
  readonly restart: readonly string[]
  readonly warnings: readonly Problem[]
}

const copyOf = ({ added, removed, changed }: ListChange) => ({
  added: [...added],
  removed: [...removed],
  changed: [...changed],
})

/** Accounts are only counted, because names of people must not be shown to everybody who sees the configuration. */
const counted = (names: readonly string[]): string[] => names.map((_, index) => `account ${String(index + 1)}`)

/** Reads the file again and compares it with what runs. Throws `ConfigurationError` when the file is not valid. */
export const diffConfiguration = async (running: CheckedConfiguration): Promise<ConfigurationDifference> => {
  const next = await running.again()
  const { sections, restart, algorithms, certificates, reordered } = compareConfigurations(running, next)
  const { accounts, ...others } = sections
  const settings = [...algorithms, ...certificates.map((listener) => `${listener}.tls`), ...(reordered ? ['keys'] : [])]
  return {
    changes: {
      ...Object.fromEntries(Object.entries(others).map(([section, change]) => [section, copyOf(change)])),
      ...(accounts && {
        accounts: {
          ...{ added: counted(accounts.added), removed: counted(accounts.removed), changed: counted(accounts.changed) },
        },
      }),
      ...(settings.length > 0 && { settings: { added: [], removed: [], changed: settings } }),
    },
    restart,
    warnings: next.warnings,
  }
}
