import type { Config } from '../../config/schema.js'
import type { Problem } from '../../config/problems.js'
import type { CheckedConfiguration } from '../checks/check-configuration.js'
import { compareConfigurations, type ListChange } from '../checks/config-changes.js'
import type { JsonObject, JsonValue } from '../json.js'

/** Names of options that hold a secret, however a plugin writes them. */
const secretName = /secret|password|passphrase|pin$|token|sealing|private|credential|api_?key/i

const mask = '[secret]'

/** Hides the password of a URL such as that of a database. */
const withoutPassword = (text: string): string =>
  text.replace(/^([a-z][a-z\d+.-]*:\/\/[^/:@]*):[^/@]*@/i, `$1:${mask}@`)

/**
 * Masks what hides a secret by its name. Only options of plugins, signers and stores are free-form; everywhere else the
 * schema says what is a secret, and it masks itself.
 */
const maskOptions = (value: JsonValue | undefined, isOption: boolean, name = ''): JsonValue | undefined => {
  if (typeof value === 'string') return isOption && secretName.test(name) ? mask : withoutPassword(value)
  if (Array.isArray(value)) return value.map((one: JsonValue) => maskOptions(one, isOption, name) ?? null)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, maskOptions(inner, isOption || key === 'options', key)]),
  )
}

/**
 * The configuration in force with its defaults, for operators: secrets are masked, and the accounts, which are data of
 * people, are only counted.
 */
export const maskConfiguration = (config: Config): JsonObject => {
  const { accounts, ...rest } = maskOptions(JSON.parse(JSON.stringify(config)) as JsonObject, false) as JsonObject
  return { ...rest, accounts: Array.isArray(accounts) ? accounts.length : 0 }
}

/** The differences between the file on the host and the configuration in force. */
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
