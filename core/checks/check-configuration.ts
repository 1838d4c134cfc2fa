import { dirname, resolve } from 'node:path'
import type { Salvaged } from '../../config/explain.js'
import { readConfig, type ConfigReading } from '../../config/load.js'
import { ConfigurationError, type Problem } from '../../config/problems.js'
import type { Config } from '../../config/schema.js'
import type { Client } from '../oauth/clients/client.js'
import { parseClientMetadata } from '../oauth/clients/client-metadata.js'
import type { MetadataProblem } from '../oauth/clients/metadata-rules.js'
import { createCheckSector } from '../oauth/clients/check-sector.js'
import type { Messages } from '../interaction/languages/built-in.js'
import type { Theme } from '../interaction/pages/theme.js'
import { createOutboundFetch } from '../outbound/outbound-fetch.js'
import { findProxyFault } from '../outbound/proxy.js'
import { crossCheck } from './cross-check.js'
import { readTheme, type LoadPages } from './read-theme.js'
import type { CheckedRegistries } from './rule.js'
import { checkStores } from '../modules/load-store.js'
import { loadModules, type LoadedModules } from '../modules/load-modules.js'
import { readMessages } from '../modules/read-messages.js'
import { inertServices } from '../modules/inert-services.js'
import { createRegistries, type Registries } from '../modules/registries.js'

/** A configuration that has passed every check that is possible without a network. */
export interface CheckedConfiguration {
  /** The absolute path of the file. */
  readonly file: string
  readonly config: Config
  /** The clients of `config.clients`, in the same order. */
  readonly clients: readonly Client[]
  readonly modules: LoadedModules
  /** The theme of the pages, with the files that the section `ui` names. */
  readonly theme: Theme
  readonly messages: Messages
  readonly warnings: readonly Problem[]
  /** Reads and checks the file again. Throws as `checkConfiguration`. */
  again(): Promise<CheckedConfiguration>
}

const sectionOf = ({ path }: Problem): string => /^[\w-]*/.exec(path)?.[0] ?? ''

const parseClients = ({ salvaged, problems: found }: ConfigReading) => {
  const reported = new Set(found.map(({ path }) => path))
  const scopes = (salvaged.scopes_supported ?? []).filter((scope) => scope !== undefined)
  const profile = salvaged.security_profile
  const parses = (salvaged.clients ?? []).map((metadata) =>
    metadata === undefined
      ? { client: undefined, problems: [], warnings: [] }
      : parseClientMetadata(metadata, scopes, profile),
  )
  const atClient = (found: readonly MetadataProblem[], index: number): readonly Problem[] =>
    found.map(({ path, message }) => {
      const place = `clients[${String(index)}]`
      return { path: path === '' ? place : `${place}.${path}`, message }
    })
  return {
    clients: parses.map(({ client }) => client),
    problems: parses
      .flatMap(({ problems }, index) => atClient(problems, index))
      .filter(({ path }) => !reported.has(path)),
    warnings: parses.flatMap(({ warnings }, index) => atClient(warnings, index)),
  }
}

const tryRegistries = async (modules: LoadedModules, issuer: string) => {
  try {
    return { registries: await createRegistries(modules.plugins, inertServices(issuer)), problems: [] }
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error
    return { problems: error.problems }
  }
}

const nothing: Pick<
  Registries,
  | 'grants'
  | 'clientAuthenticators'
  | 'signIn'
  | 'secondFactors'
  | 'evidence'
  | 'authorizationDetails'
  | 'signedRequests'
> = {
  authorizationDetails: new Map(),
  signedRequests: [],
  grants: new Map(),
  signIn: new Map(),
  secondFactors: new Map(),
  evidence: new Map(),
  clientAuthenticators: new Map(),
}

/**
 * Reads a configuration and checks everything that needs no network: schema, modules and their options, client
 * metadata, cross-checks. Where possible, one mistake does not hide another. Plugins are created once, with services
 * that reach nothing, and closed again; signers are only loaded. With a `port`, the checks apply to the configuration
 * on that port. Throws `ConfigurationError` with every problem.
 */
export const checkConfiguration = async (
  file: string,
  env: NodeJS.ProcessEnv,
  loadPages: LoadPages,
  port?: number,
): Promise<CheckedConfiguration> => {
  const reading = await readConfig(file, env, { port })
  const { config, salvaged } = reading
  // Nothing can be concluded from a file that could not be read.
  if (reading.problems.some(({ path }) => path === '')) throw new ConfigurationError(reading.problems)
  const { clients, problems: clientProblems, warnings: clientWarnings } = parseClients(reading)
  const modules = await loadModules(salvaged, reading.file)
  const { registries, problems: createProblems } = await tryRegistries(
    modules,
    salvaged.issuer ?? 'https://issuer.invalid',
  )
  const storeProblems = await checkStores(salvaged, dirname(reading.file))
  const { messages, problems: textProblems, warnings: textWarnings } = readMessages(salvaged.ui, dirname(reading.file))
  const { theme, problems: themeProblems } = await readTheme(salvaged.ui, dirname(reading.file), messages, loadPages)
  const proxyFault = findProxyFault(env)
  // A value that could not be read is empty, and its module would report it a second time.
  const reported = new Set(reading.problems.map(({ path }) => path))
  const inModules = [
    ...modules.problems,
    ...createProblems,
    ...storeProblems,
    ...themeProblems,
    ...textProblems,
  ].filter(({ path }) => !reported.has(path))
  const proxyProblems = proxyFault === undefined ? [] : [{ path: 'outbound', message: proxyFault }]
  const found = [...reading.problems, ...proxyProblems, ...clientProblems, ...inModules]
  try {
    const checked = crossCheck(salvaged, clients, registries ?? nothing, new Set(found.map(sectionOf)))
    const problems = reading.locate([...found, ...checked.problems])
    if (config === undefined || problems.length > 0)
      throw new ConfigurationError(problems.sort((left, right) => (left.line ?? 0) - (right.line ?? 0)))
    return {
      file: reading.file,
      config,
      clients: clients.filter((client) => client !== undefined),
      modules,
      theme,
      messages,
      warnings: reading.locate([...reading.warnings, ...clientWarnings, ...textWarnings, ...checked.warnings]),
      again: () => checkConfiguration(reading.file, env, loadPages, port),
    }
  } finally {
    await registries?.[Symbol.asyncDispose]()
  }
}

/**
 * Loads the configuration in `file`, with the options of its stores, which is enough for commands that work on stored
 * data: secrets of plugins and signers may be missing. Throws `ConfigurationError` with every problem.
 */
export const loadWithStores = async (file: string, env: NodeJS.ProcessEnv): Promise<Config> => {
  const { config, salvaged, problems, locate } = await readConfig(file, env, { withoutModules: true })
  const found = [...problems, ...locate(await checkStores(salvaged, dirname(resolve(file))))]
  if (config === undefined || found.length > 0) throw new ConfigurationError(found)
  return config
}

/**
 * Finds what a client needs and the deployment lacks: a grant, a method, a scope, an algorithm. Paths are within its
 * metadata.
 */
export const findUnavailable = (
  config: Salvaged<Config>,
  registries: CheckedRegistries,
  client: Client,
): readonly Problem[] => {
  const place = 'clients[0].'
  return crossCheck(config, [client], registries)
    .problems.filter(({ path }) => path.startsWith(place))
    .map(({ path, message }) => ({ path: path.slice(place.length), message }))
}

/**
 * Finds what would keep a client that an operator adds from working in this deployment: a missing grant, method,
 * scope or algorithm, or a sector that does not belong to the client. Paths are within the client's metadata.
 */
export const checkClient = async (
  { config, modules }: CheckedConfiguration,
  client: Client,
): Promise<readonly Problem[]> => {
  await using registries = await createRegistries(modules.plugins, inertServices(config.issuer))
  const problems = findUnavailable(config, registries, client)
  const { allow_private_addresses: allowPrivateAddresses } = config.outbound
  const checkSector = createCheckSector(createOutboundFetch({ allowPrivateAddresses }))
  return [...problems, ...(await checkSector(client, 'operator'))]
}
