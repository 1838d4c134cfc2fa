/**
 * Everything that an operator can be permitted to do. Each route of the admin listener, each page of the console and
 * each command that changes something names one of these.
 */
export const permissions = {
  'service.read': 'See health, metrics, components and figures.',
  'configuration.read': 'See the configuration, without its secrets.',
  'configuration.reload': 'Reload the configuration file of the host.',
  'configuration.write': 'Apply configuration that is kept in the store.',
  'clients.read': 'See clients and their use.',
  'clients.write': 'Create, change, disable and delete clients, and replace their secrets.',
  'people.read': 'See people, their sessions, grants, consents, devices and factors.',
  'people.support':
    'Disable people, end what they have opened or granted, remove their factors, and send them recovery links.',
  'people.write': 'Create, change and delete people, and export what is stored of one.',
  'principals.read': 'See enrolled devices and services, and enrolments that wait for a decision.',
  'principals.write': 'Approve and deny enrolments, revoke and restore devices and services.',
  'registrations.read': 'See initial access tokens.',
  'registrations.write': 'Create and revoke initial access tokens.',
  'keys.read': 'See keys, slots and signers.',
  'keys.write': 'Prove signers, rotate and withdraw keys.',
  'audit.read': 'Search and verify the audit log.',
  'approvals.read': 'See what waits for approval.',
  'approvals.decide': 'Approve or refuse actions of other operators. The permission for the action is needed as well.',
  'operators.read': 'See operators and their credentials.',
  'operators.write': 'Add, change and remove operators, up to the own permissions.',
} as const satisfies Readonly<Record<string, string>>

export type Permission = keyof typeof permissions

export const isPermission = (text: string): text is Permission => Object.hasOwn(permissions, text)

const all = Object.keys(permissions) as Permission[]

const reading = all.filter((permission) => permission.endsWith('.read'))

const people: readonly Permission[] = ['people.read', 'people.support']

/**
 * The roles that every deployment has. `local` is not among them: it is whoever can open the stores of the deployment,
 * and may do everything.
 */
export const builtInRoles = {
  /** Sees no data of people, and no audit log, which has such data. */
  viewer: reading.filter((permission) => permission !== 'people.read' && permission !== 'audit.read'),
  support: people,
  operator: all.filter((permission) => permission !== 'keys.write'),
  key_custodian: [
    'service.read',
    'configuration.read',
    'keys.read',
    'keys.write',
    'approvals.read',
    'approvals.decide',
  ],
  auditor: reading,
} as const satisfies Readonly<Record<string, readonly Permission[]>>

export type BuiltInRole = keyof typeof builtInRoles

export const everyPermission: ReadonlySet<Permission> = new Set(all)

/** The roles of a deployment: the built-in ones and those of its configuration. */
export type Roles = ReadonlyMap<string, readonly Permission[]>

/**
 * The built-in roles and those of the configuration, whose names were checked. A role of the configuration replaces
 * none that is built in.
 */
export const rolesOf = (configured: Readonly<Record<string, readonly string[]>> = {}): Roles =>
  new Map([
    ...Object.entries(configured).map(([role, names]) => [role, names.filter(isPermission)] as const),
    ...Object.entries(builtInRoles),
  ])

/** The union of the permissions of these roles. A role that does not exist permits nothing. */
export const permissionsOf = (roles: Roles, names: readonly string[]): ReadonlySet<Permission> =>
  new Set(names.flatMap((name) => roles.get(name) ?? []))
