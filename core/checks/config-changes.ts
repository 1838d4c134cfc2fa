import { isDeepStrictEqual } from 'node:util'
import { formatPath, type Path } from '../format-path.js'
import type { Config } from '../../config/schema.js'
import type { Messages } from '../interaction/languages/built-in.js'
import { isSlot } from '../keys/slots/expand-slots.js'
import type { Theme } from '../interaction/pages/theme.js'
import { revealOptions } from '../../config/substitute.js'

/** The names of the items that were added, removed or changed. */
export interface ListChange {
  readonly added: readonly string[]
  readonly removed: readonly string[]
  readonly changed: readonly string[]
}

/** The sections that may change while the service runs. */
export const reloadable = ['keys', 'signers', 'clients', 'accounts', 'operators', 'ui'] as const

export type ReloadableSection = (typeof reloadable)[number]

/** The signing algorithms may change too, because a rotation may end in another algorithm. */
const algorithms = ['access_token_signing_alg', 'id_token_signing_alg'] as const

export interface ConfigChanges {
  readonly sections: Readonly<Partial<Record<ReloadableSection, ListChange>>>
  /** True when the order of the keys has changed. */
  readonly reordered: boolean
  /** The settings that name an algorithm and differ. */
  readonly algorithms: readonly (typeof algorithms)[number][]
  /** The listeners whose certificate or key differs. */
  readonly certificates: readonly TlsListener[]
  /** The paths of everything else that differs, and needs a restart. */
  readonly restart: readonly string[]
}

/** The sections that hold a certificate of this server. */
export type TlsListener = 'listen' | 'mtls.listen' | 'admin'

/**
 * Returns the certificate of each listener. A second listener without a certificate of its own uses that of the
 * first.
 */
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
  keys: new Map(config.keys.map((key) => [isSlot(key) ? `slot ${key.slot}` : key.kid, key])),
  signers: new Map(Object.entries(config.signers)),
  clients: new Map(config.clients.map((client) => [String(client['client_id']), client])),
  accounts: new Map(config.accounts.map((account) => [account.username, account])),
  operators: new Map<string, unknown>([
    ...config.operators.people.map((person) => [person.name, person] as const),
    ...Object.entries(config.operators.roles).map(([role, permissions]) => [`role ${role}`, permissions] as const),
    ['oidc', config.operators.oidc],
    ['trust_anchors', config.operators.trust_anchors],
  ]),
  // Assets are named by their content.
  ui: new Map<string, unknown>([
    ...Object.entries(config.ui),
    ['files', [[...theme.assets.keys()], [...theme.views]]],
    ['texts', [...messages.texts].map(([language, texts]) => [language, Object.fromEntries(texts)])],
  ]),
})

/** Secrets are compared by what they hide, because two that look alike may differ. */
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

/** Returns where two values differ, as deep as sections go. A list or a plain value that differs is one path. */
const findDifferences = (left: unknown, right: unknown, path: Path): readonly Path[] => {
  if (isSame(left, right)) return []
  if (!isSection(left) || !isSection(right)) return [path]
  const names = new Set([...Object.keys(left), ...Object.keys(right)])
  return [...names].flatMap((name) => findDifferences(left[name], right[name], [...path, name]))
}

const tlsListeners = ['listen', 'mtls.listen', 'admin'] as const satisfies readonly TlsListener[]

/** Adding or removing a certificate needs a restart; replacing it does not. */
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

/** Returns what is different in `next`, without any of the values. It is a pure function. */
export const compareConfigurations = (running: Compared, next: Compared): ConfigChanges => {
  const [old, now] = [entriesOf(running), entriesOf(next)]
  const [before, after] = [running.config, next.config]
  const changes = reloadable.map((section) => [section, compareEntries(old[section], now[section])] as const)
  const kept = [...old.keys.keys()].filter((kid) => now.keys.has(kid))
  const order = [...now.keys.keys()].filter((kid) => old.keys.has(kid))
  const movable: readonly string[] = [...reloadable, ...algorithms]
  // Scopes are compared under the key of the file.
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
