import { isDeepStrictEqual } from 'node:util'
import type { PluginModule, Services } from '../modules/contract.js'
import type { Client } from '../oauth/clients/client.js'
import type { GrantHandler, GrantRequest } from '../oauth/grants/grant.js'
import { OAuthError } from '../oauth/errors.js'
import { Unavailable } from '../unavailable.js'
import { attacksOn, stranger, victim } from './attacks.js'
import { attempt, type TrialRequest, type Outcome, type Setting } from './attempt.js'
import type { Finding, Report } from './report.js'

/** A request for which the grant issues tokens. */
export interface HonestRequest {
  /** Applied to a confidential client with the scopes `read` and `write` and one resource server. */
  readonly client?: Partial<Client>
  readonly params: Readonly<Record<string, string>>
  readonly scope?: readonly string[]
  readonly resource?: readonly string[]
  readonly audience?: readonly string[]
  readonly constraint?: NonNullable<GrantRequest['constraint']>
}

export interface GrantAttack {
  /** As in the configuration. The plugin's schema checks them. */
  readonly options?: unknown
  /** Services that the plugin needs besides `clock`, `log` and `issuer`. */
  readonly services?: Partial<Services>
  /** Required when the plugin provides more than one grant. */
  readonly grantType?: string
  readonly requests: readonly HonestRequest[]
  /** Milliseconds that one request may take; default 1000. */
  readonly deadlineMs?: number
}

const issuer = 'https://issuer.example'

const exampleClient: Client = {
  client_id: 'client',
  application_type: 'web',
  redirect_uris: [],
  grant_types: [],
  response_types: [],
  scope: ['read', 'write'],
  token_endpoint_auth_method: 'client_secret_basic',
  allowed_audiences: ['https://api.example'],
  security_profile: 'oauth2',
  metadata: {},
}

const down = (): never => {
  throw new Unavailable('attack', 'no', 'The service is down.')
}

/** The result of a request, with what the author needs to know about an error. */
const outcomeText = ({ error }: Outcome = { faults: [] }): string => {
  if (error instanceof OAuthError)
    return `${error.code}: ${error.description}${error.reason === error.description ? '' : ` (${error.reason})`}`
  if (error instanceof Unavailable) return `Unavailable of ${error.component}: ${error.message}${causeOf(error)}`
  return error instanceof Error ? `${error.name}: ${error.message}` : 'gives tokens'
}

const causeOf = ({ cause }: Error): string => (cause instanceof Error ? ` (${cause.name}: ${cause.message})` : '')

/** An honest request that fails because of an outage shows nothing about the grant. */
const describeRefusal = (error: unknown): Pick<Finding, 'rule' | 'detail'> =>
  error instanceof OAuthError
    ? { rule: 'refuses', detail: `refuses what it should give: ${outcomeText({ error, faults: [] })}` }
    : { rule: 'unreachable', detail: `cannot decide: ${outcomeText({ error, faults: [] })}` }

/** Services whose calls all fail like those of a store that is down. */
const broken = (services: Partial<Services>): Partial<Services> =>
  Object.fromEntries(
    Object.entries(services).map(([name, service]) => [
      name,
      // The proxy wraps an empty object, because a proxy of a frozen service cannot change its answers.
      typeof service === 'object' && name !== 'log' ? new Proxy({}, { get: () => async () => down() }) : service,
    ]),
  )

const freeze = <T>(value: T): T => {
  if (typeof value === 'object' && value !== null && !(value instanceof Map)) {
    for (const member of Object.values(value)) freeze(member)
    Object.freeze(value)
  }
  return value
}

/**
 * Sends malicious requests to a grant plugin and simulates faults: does it widen scope or audience, act for another
 * client, set what only the core may set, hang, throw, return invalid decisions, or keep state between requests? Uses
 * no test framework. Throws when the options are wrong or the plugin does not provide the grant.
 */
export const attackGrant = async (module: PluginModule, given: GrantAttack): Promise<Report> => {
  const now = Date.now()
  const log = { debug() {}, info() {}, warn() {}, error() {} }
  const basics = { clock: () => now, log, issuer, clockToleranceSeconds: 10 }
  const options = await readOptions(module, given.options)

  const open = async (services: Partial<Services>): Promise<GrantHandler> => {
    const needed = (module.needs ?? []).map((name) => [name, { ...basics, ...services }[name]])
    const { grants = [] } = await module.create(options, Object.fromEntries(needed) as Services)
    const found = grants.filter(({ grantType }) => given.grantType === undefined || grantType === given.grantType)
    const [handler] = found
    if (handler === undefined || found.length > 1) throw new Error('say with grantType which grant is meant')
    return handler
  }

  const handler = await open(given.services ?? {})
  const honest = given.requests.map((request): TrialRequest => ({
    client: { ...exampleClient, grant_types: [handler.grantType], ...request.client },
    params: new Map(Object.entries({ grant_type: handler.grantType, ...request.params })),
    scope: request.scope ?? [],
    resource: request.resource ?? [],
    audience: request.audience ?? [],
    ...(request.constraint && { constraint: request.constraint }),
  }))
  const setting: Setting = {
    defaultAudience: issuer,
    deadlineMs: given.deadlineMs ?? 1000,
    clients: new Set([...honest.map(({ client }) => client.client_id), stranger, victim]),
  }

  let requests = 0
  const findings = new Map<string, Finding>()
  const add = (finding: Finding): void => {
    const key = `${finding.rule} ${finding.detail}`
    if (!findings.has(key)) findings.set(key, finding)
  }
  const ask = async (attack: string, asked: TrialRequest, by = handler): Promise<Outcome> => {
    requests += 1
    const outcome = await attempt(by, freeze({ ...asked }), setting)
    for (const { rule, detail } of outcome.faults) add({ rule, attack, detail })
    return outcome
  }
  const isLate = () => [...findings.values()].some(({ rule }) => rule === 'hangs')

  const first: Outcome[] = []
  for (const asked of honest) {
    const outcome = await ask('an honest request', asked)
    first.push(outcome)
    if (outcome.decision === undefined && outcome.faults.length === 0)
      add({ ...describeRefusal(outcome.error), attack: 'an honest request' })
  }
  // A grant that hangs does so every time, and each attempt costs the deadline.
  if (isLate()) return { requests, findings: [...findings.values()] }

  for (const asked of honest)
    for (const attack of attacksOn(asked, issuer)) {
      await ask(attack.name, attack.asked)
      if (isLate()) return { requests, findings: [...findings.values()] }
    }

  const isSame = (outcome: Outcome, index: number) => isDeepStrictEqual(outcome.decision, first[index]?.decision)
  const again = await Promise.all(
    honest.flatMap((asked) => [
      ask('two at once', asked),
      ask('two at once', { ...asked, client: { ...asked.client, client_id: stranger } }),
    ]),
  )
  for (const [index, asked] of honest.entries()) {
    const last = await ask('an honest request, at the end', asked)
    const together = again[index * 2]
    if (!isSame(last, index) || (together !== undefined && !isSame(together, index)))
      add({
        rule: 'state',
        attack: 'the same request again',
        detail: `decides otherwise than at first: ${outcomeText(isSame(last, index) ? together : last)}`,
      })
  }

  const cut = await open(broken(given.services ?? {}))
  for (const [index, asked] of honest.entries()) {
    const outcome = await ask('with every service down', asked, cut)
    if (!(outcome.error instanceof Unavailable) && !isSame(outcome, index))
      add({
        rule: 'outage',
        attack: 'with every service down',
        detail: `tells an outage as something else: ${outcomeText(outcome)}`,
      })
  }
  return { requests, findings: [...findings.values()] }
}

const readOptions = async (module: PluginModule, options: unknown): Promise<unknown> => {
  if (module.options === undefined) return undefined
  const result = await module.options['~standard'].validate(options ?? {})
  if (result.issues === undefined) return result.value
  const outcomeText = result.issues.map(({ path = [], message }) => {
    const keys = path.map((part) => String(typeof part === 'object' ? part.key : part))
    return `${['options', ...keys].join('.')}: ${message}`
  })
  throw new Error(`the options are wrong: ${outcomeText.join('; ')}`)
}
