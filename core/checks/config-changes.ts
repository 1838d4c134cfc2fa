import { isDeepStrictEqual } from 'node:util'
import { formatPath, type Path } from '../format-path.js'
import type { Config } from '../../config/schema.js'
import type { Messages } from '../interaction/languages/built-in.js'
import type { Theme } from '../interaction/pages/theme.js'
import { revealOptions } from '../../config/substitute.js'

/** Names of what came, went, and is not what it was. */
export interface ListChange {
  readonly added: readonly string[]
  readonly removed: readonly string[]
  readonly changed: readonly string[]
}

/** What may change while the service runs. */
export const reloadable = ['keys', 'signers', 'clients', 'accounts', 'ui'] as const

export type ReloadableSection = (typeof reloadable)[number]

/** Beside them: which algorithm signs, because a rotation may end in another one. */
const algorithms = ['access_token_signing_alg', 'id_token_signing_alg'] as const

export interface ConfigChanges {
  readonly sections: Readonly<Partial<Record<ReloadableSection, ListChange>>>
  /** True when keys are preferred in another order. */
  readonly reordered: boolean
  /** Of the two settings that name an algorithm, those that differ. */
  readonly algorithms: readonly (typeof algorithms)[number][]
  /** Listeners whose certificate or key differs. */
  readonly certificates: readonly TlsListener[]
  /** Paths of everything else that differs, and needs a restart. */
  readonly restart: readonly string[]
}

/** The sections that have a certificate of ours. */
export type TlsListener = 'listen' | 'mtls.listen' | 'admin'

/** What each listener has. A second listener without a certificate of its own has that of the first. */
export const certificatesOf = ({ listen, mtls, admin }: Pick<Config, 'listen' | 'mtls' | 'admin'>) =>
  ({ listen: listen.tls, 'mtls.listen': mtls?.listen?.tls, admin: admin.tls }) as const

type Entries = ReadonlyMap<string, unknown>

/** A configuration with the files that the section `ui` names. */
interface Compared {
  readonly config: Config
  readonly theme: Pick<Theme, 'assets' | 'views'>
  readonly messages: Pick<Messages, 'texts'>
}

const entriesOf = ({ config, theme, messages }: Compared): Readonly<Record<ReloadableSection, Entries>> => ({
  keys: new Map(config.keys.map((key) => [key.kid, key])),
  signers: new Map(Object.entries(config.signers)),
  clients: new Map(config.clients.map((client) => [String(client['client_id']), client])),
  accounts: new Map(config.accounts.map((account) => [account.username, account])),
  // Assets are named by what they contain.
  ui: new Map<string, unknown>([
    ...Object.entries(config.ui),
    ['files', [[...theme.assets.keys()], [...theme.views]]],
    ['texts', [...messages.texts].map(([language, texts]) => [language, Object.fromEntries(texts)])],
  ]),
})

/** Secrets are compared by what they hide: two that look alike need not be. */
const isSame = (left: unknown, right: unknown): boolean => isDeepStrictEqual(revealOptions(left), revealOptions(right))

const compareEntries = (before: Entries, after: Entries): ListChange => ({
  added: [...after.keys()].filter((name) => !before.has(name)),
  removed: [...before.keys()].filter((name) => !after.has(name)),
  changed: [...after.keys()].filter((name) => before.has(name) && !isSame(before.get(name), after.get(name))),
})

const isEmpty = ({ added, removed, changed }: ListChange): boolean =>
  added.length + removed.length + changed.length === 0

const isSection = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype

/** Where two values differ, as deep as sections go: a list or a plain value that differs is one place. */
const findDifferences = (left: unknown, right: unknown, path: Path): readonly Path[] => {
  if (isSame(left, right)) return []
  if (!isSection(left) || !isSection(right)) return [path]
  const names = new Set([...Object.keys(left), ...Object.keys(right)])
  return [...names].flatMap((name) => findDifferences(left[name], right[name], [...path, name]))
}

const tlsListeners = ['listen', 'mtls.listen', 'admin'] as const satisfies readonly TlsListener[]

/** Whether there is one needs a restart; which one does not. */
const withoutCertificates = <Part extends Pick<Config, 'listen' | 'mtls' | 'admin'>>({
  listen,
  mtls,
  admin,
  ...rest
}: Part) => ({
  ...rest,
  listen: { ...listen, tls: listen.tls !== undefined },
  mtls: mtls && { ...mtls, listen: mtls.listen && { ...mtls.listen, tls: mtls.listen.tls !== undefined } },
  admin: { ...admin, tls: admin.tls !== undefined },
})

/** What is different in `next`. Reports no value of either. Pure. */
export const compareConfigurations = (running: Compared, next: Compared): ConfigChanges => {
  const [old, now] = [entriesOf(running), entriesOf(next)]
  const [before, after] = [running.config, next.config]
  const changes = reloadable.map((section) => [section, compareEntries(old[section], now[section])] as const)
  const kept = [...old.keys.keys()].filter((kid) => now.keys.has(kid))
  const order = [...now.keys.keys()].filter((kid) => old.keys.has(kid))
  const movable: readonly string[] = [...reloadable, ...algorithms]
  // Under the key of the file.
  const fixed = ({ scopes, ...config }: Config) =>
    Object.fromEntries(
      Object.entries({ ...withoutCertificates(config), scopes_supported: scopes }).filter(
        ([name]) => !movable.includes(name),
      ),
    )
  const [hadTls, hasTls] = [certificatesOf(before), certificatesOf(after)]
  return {
    sections: Object.fromEntries(changes.filter(([, change]) => !isEmpty(change))),
    reordered: !isDeepStrictEqual(kept, order),
    algorithms: algorithms.filter((name) => before[name] !== after[name]),
    certificates: tlsListeners.filter((name) => !isSame(hadTls[name], hasTls[name])),
    restart: findDifferences(fixed(before), fixed(after), []).map(formatPath),
  }
}
