import type { Config } from '../../../config/schema.js'
import { revealOptions } from '../../../config/substitute.js'
import { importAccounts, type Imported } from '../../administration/import/import-accounts.js'
import type { UnreadableEntry } from '../../administration/import/imported-account.js'
import { createPasswordHasher } from '../../interaction/password-hasher.js'
import { RecordsUnreadable } from '../../operate/json-records.js'
import { administer, readDeployment, type DeploymentOptions } from '../deployment.js'
import { CommandFailed } from '../failure.js'
import { print, printError, printJson } from '../output.js'
import { counted } from '../person.js'
import type { ImportFormat } from './formats.js'
import { detectFormat, readAccounts } from './read-accounts.js'

export interface ImportOptions extends DeploymentOptions {
  readonly format?: ImportFormat
  readonly dryRun?: true
  readonly firebaseHashConfig?: string
  readonly json?: true
}

/** The key of the plugin that will check one-time passwords. */
const totpKeyOf = ({ plugins }: Config): Uint8Array | undefined => {
  const plugin = plugins.find(({ use }) => use === 'plugins/login/totp')
  const key = plugin && (revealOptions(plugin.options) as { readonly sealing_key?: unknown }).sealing_key
  // Without the variable that has it, the key is empty.
  return typeof key === 'string' && key !== '' ? Buffer.from(key, 'base64url') : undefined
}

/** The most refusals that `--json` lists; each is printed in any case. */
const mostListed = 10_000

const summary = ({ imported, existing, rejected }: Imported, isDryRun: boolean): string =>
  `${isDryRun ? 'Would import' : 'Imported'} ${counted(imported, 'account')}, ` +
  `${String(existing)} existed already, ${String(rejected)} refused`

/** Implements `signet accounts import`. Refusals are printed as they are found, with their place in the file. */
export const importAccountsFrom = async (file: string, options: ImportOptions): Promise<void> => {
  const config = await readDeployment(options)
  const format = options.format ?? (await detectFormat(file))
  const refusals: UnreadableEntry[] = []
  const refused = (entry: UnreadableEntry): void => {
    if (options.json && refusals.length < mostListed) refusals.push(entry)
    printError(`${entry.place}: ${entry.reason}`)
  }
  try {
    const accounts = await readAccounts(file, format, options.firebaseHashConfig)
    const result = await administer(config, (administration, by) =>
      importAccounts(administration, by, {
        ...{ accounts, refused, totpKey: totpKeyOf(config), dryRun: options.dryRun === true },
        // The hasher's queue protects a service from strangers; here only this command waits in it.
        hasher: createPasswordHasher({ maxWaiting: 1000 }),
      }),
    )
    if (result.rejected > 0) process.exitCode = 1
    if (options.json) return printJson({ ...result, dry_run: options.dryRun === true, refusals })
    print(summary(result, options.dryRun === true))
  } catch (error) {
    if (error instanceof RecordsUnreadable) throw new CommandFailed(error.message)
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    if (code === 'ENOENT' || code === 'EACCES' || code === 'EISDIR')
      throw new CommandFailed(`The file cannot be read: ${code}.`)
    throw error
  }
}
