import { issueOperatorLink } from '../administration/operator-links.js'
import { isLoopbackHost, isSocketPath } from '../../config/fields.js'
import type { Config } from '../../config/schema.js'
import { isRefusal, type Refusal } from '../administration/administration.js'
import { addOperator, listOperators, removeOperator, updateOperator } from '../administration/operator-people.js'
import { isoTime } from '../clock.js'
import { localOperator } from '../operators/operator.js'
import { administer, readDeployment, withStores } from './deployment.js'
import { CommandFailed } from './failure.js'
import type { OperatorOptions } from './operators.js'
import { print, printFields, printJson } from './output.js'
import { printList } from './table.js'

export interface LinkOptions extends OperatorOptions {
  readonly role?: readonly string[]
}

export interface ChangeOperatorOptions extends LinkOptions {
  readonly disable?: true
  readonly enable?: true
}

const sentences: Readonly<Record<string, string>> = {
  name: 'A name has up to 64 small letters, digits, and . _ @ -; local, admin.token, self and tokens are taken.',
  unknown: 'There is no operator with this name.',
  exists: 'There is an operator with this name already.',
  configured: 'The operator is in the configuration file; only disabling works here.',
  changed_meanwhile: 'The operator was changed meanwhile. Try again.',
  too_many: 'There are too many operators in the store.',
  empty: 'Write --role, --disable or --enable.',
}

/** Throws `CommandFailed` for a refusal. */
const unlessRefused = <T>(result: T): Exclude<T, Refusal> => {
  if (!isRefusal(result)) return result as Exclude<T, Refusal>
  throw new CommandFailed(result.reason ?? sentences[result.refused] ?? result.refused)
}

/** Implements `signet operators list`. */
export const printOperators = async (options: OperatorOptions): Promise<void> => {
  const config = await readDeployment(options)
  const found = await withStores(config, (stores) => listOperators({ config, stores }))
  const rows = found.map(({ name, source, roles, disabled, credentials }) => ({
    ...{ name, source, roles, disabled },
    credentials: credentials.map(({ id, kind }) => ({ id, kind })),
  }))
  if (options.json) return printJson(rows)
  printList(
    'operators',
    ['NAME', 'ROLES', 'SOURCE', 'STATE', 'CREDENTIALS'],
    rows.map(({ name, roles, source, disabled, credentials }) => [
      name,
      roles.join(' '),
      source,
      disabled ? 'disabled' : 'active',
      credentials.map(({ kind }) => kind).join(' '),
    ]),
  )
}

/** Implements `signet operators add`. */
export const addNewOperator = async (name: string, options: ChangeOperatorOptions): Promise<void> => {
  const config = await readDeployment(options)
  const input = { name, roles: options.role ?? [], issuer: localOperator }
  const { roles } = unlessRefused(
    await administer(config, (administration, by) => addOperator(administration, by, input)),
  )
  if (options.json) return printJson({ name, roles })
  print(`Added ${name}. A link for the first sign-in: signet operators link ${name}`)
}

/** Implements `signet operators update`. */
export const changeOperator = async (name: string, options: ChangeOperatorOptions): Promise<void> => {
  if (options.disable && options.enable) throw new CommandFailed('Write --disable or --enable, not both.')
  const config = await readDeployment(options)
  const disabled = options.disable ? true : options.enable ? false : undefined
  const input = { name, roles: options.role, disabled, issuer: localOperator }
  const now = unlessRefused(await administer(config, (administration, by) => updateOperator(administration, by, input)))
  if (options.json) return printJson({ name, roles: now.roles, disabled: now.disabled })
  print(`${name} has the roles ${now.roles.join(', ')}${now.disabled ? ', and is disabled' : ''}.`)
}

/** Implements `signet operators remove`. */
export const removeStoredOperator = async (name: string, options: OperatorOptions): Promise<void> => {
  const config = await readDeployment(options)
  unlessRefused(
    await administer(config, (administration, by) =>
      removeOperator(administration, by, { name, issuer: localOperator }),
    ),
  )
  if (options.json) return printJson({ name, state: 'removed' })
  print(`Removed ${name}`)
}

/** Returns the URL of the admin listener for browsers; passkeys need a name, not an address. */
const baseUrlOf = ({ admin: { base_url: baseUrl, host, port, tls } }: Config): string => {
  if (baseUrl !== undefined) return baseUrl
  if (isSocketPath(host) || !isLoopbackHost(host) || tls !== undefined || port === 0)
    throw new CommandFailed('Set admin.base_url, the address under which browsers reach the admin listener.')
  return `http://localhost:${String(port)}`
}

/** Implements `signet operators link`. The link is printed only this once; the store gets its hash. */
export const printLink = async (name: string, options: LinkOptions): Promise<void> => {
  const config = await readDeployment(options)
  const base = baseUrlOf(config)
  const issuer = localOperator
  const { path, expiresAt } = await administer(config, async (administration, by) => {
    if (options.role !== undefined)
      unlessRefused(await addOperator(administration, by, { name, roles: options.role, issuer }))
    return unlessRefused(await issueOperatorLink(administration, by, { name, issuer }))
  })
  const [url, expires_at] = [`${base}${path}`, isoTime(expiresAt)]
  if (options.json) return printJson({ name, url, expires_at })
  printFields({ link: url, expires: `${expires_at}  (it can be used once)` })
}

/** The operator of the demo, who may do everything. */
const demoOperator = { name: 'demo', roles: ['operator', 'key_custodian', 'auditor'], issuer: localOperator }

/** Returns the path of a link for the demo's operator, who is added at the first start. Throws `CommandFailed`. */
export const issueDemoLink = async (config: Config): Promise<string> =>
  administer(config, async (administration, by) => {
    const added = await addOperator(administration, by, demoOperator)
    if (isRefusal(added) && added.refused !== 'exists') return unlessRefused(added)
    return unlessRefused(await issueOperatorLink(administration, by, demoOperator)).path
  })
