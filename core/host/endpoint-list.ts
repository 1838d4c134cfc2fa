import type { Config } from '../../config/schema.js'
import type { Declaration, Endpoint, HandlersOf } from '../endpoints/endpoint.js'
import type { Handler } from '../endpoints/message.js'
import type { RecordedHandler } from '../endpoints/refusals.js'
import { attestedClient } from '../oauth/clients/client-authentication.js'
import { cibaGrant } from '../oauth/ciba/request.js'
import { deviceCodeGrant } from '../oauth/grants/device-code.js'
import {
  attestationEndpoints,
  challengeEndpoints,
  createAttestationEndpoints,
  createChallengeEndpoints,
  createStatusListEndpoints,
  createTrustBundleEndpoints,
  statusListEndpoints,
  trustBundleEndpoints,
} from './attestation-endpoints.js'
import { cibaEndpoints, createCibaEndpoints } from './ciba-endpoints.js'
import { createDemoPaymentEndpoint, demoEndpoints } from '../demo/payment.js'
import { tokens, type Resolve } from './injection-tokens.js'
import { createGrantEndpoints, createMachineEndpoints, grantEndpoints, machineEndpoints } from './machine-endpoints.js'
import { createKeyLogEndpoints, keyLogEndpoints } from './public-key-log.js'
import { accountEndpoints, createAccountEndpoints } from './account-endpoints.js'
import {
  createDeviceEndpoints,
  createEndedElsewhereEndpoints,
  createPeopleEndpoints,
  createSignIn,
  deviceEndpoints,
  endedElsewhereEndpoints,
  peopleEndpoints,
} from './people-endpoints.js'
import { createRegistrationEndpoints, registrationEndpoints } from './registration-endpoints.js'
import type { Pages } from '../interaction/pages/pages.js'
import type { SignLogoutToken } from '../tokens/logout-token.js'
import type { InFlight } from './in-flight.js'

type Limited = Declaration & { readonly limit: { readonly byAddress: keyof Config['rate_limits'] } }

/** Every endpoint that a deployment can serve. */
export const declarations: readonly Limited[] = Object.values({
  ...machineEndpoints,
  ...grantEndpoints,
  ...peopleEndpoints,
  ...accountEndpoints,
  ...endedElsewhereEndpoints,
  ...deviceEndpoints,
  ...cibaEndpoints,
  ...attestationEndpoints,
  ...challengeEndpoints,
  ...statusListEndpoints,
  ...trustBundleEndpoints,
  ...registrationEndpoints,
  ...keyLogEndpoints,
})

/** Creates the endpoints of one generation that its configuration and plugins call for. */
export const createEndpoints = (get: Resolve): readonly Endpoint[] => {
  const { attestation: section, registration } = get(tokens.config)
  const { signIn: methods, accounts, clientAuthenticators } = get(tokens.registries)
  const behindLimits = createBehindLimits(get)

  const listed = <Declared extends Readonly<Record<string, Limited>>>(
    declared: Declared,
    handlers: HandlersOf<Declared>,
  ): readonly Endpoint[] =>
    Object.entries(declared).map(([name, declaration]) => behindLimits(declaration, handlers[name] as RecordedHandler))

  const others: Endpoint[] = []
  if (get(tokens.grants).size > 0) others.push(...listed(grantEndpoints, createGrantEndpoints(get)))
  if (methods.size > 0 && accounts !== undefined) {
    const signIn = createSignIn(get, methods, accounts)
    others.push(...listed(peopleEndpoints, createPeopleEndpoints(get, signIn)))
    if ([...methods.values()].some(({ endedElsewhere }) => endedElsewhere !== undefined))
      others.push(...listed(endedElsewhereEndpoints, createEndedElsewhereEndpoints(get, signIn)))
    if (get(tokens.config).account_page) others.push(...listed(accountEndpoints, createAccountEndpoints(get, signIn)))
    if (get(tokens.grants).has(deviceCodeGrant))
      others.push(...listed(deviceEndpoints, createDeviceEndpoints(get, signIn)))
    if (section !== undefined && get(tokens.grants).has(cibaGrant))
      others.push(...listed(cibaEndpoints, createCibaEndpoints(get, signIn, section)))
  }
  if (section !== undefined) others.push(...listed(attestationEndpoints, createAttestationEndpoints(get, section)))
  if (section !== undefined || clientAuthenticators.has(attestedClient))
    others.push(...listed(challengeEndpoints, createChallengeEndpoints(get)))
  const statusLists = get(tokens.statusLists)
  if (statusLists !== undefined)
    others.push(...listed(statusListEndpoints, createStatusListEndpoints(get, statusLists)))
  if (section?.workload_identity !== undefined)
    others.push(...listed(trustBundleEndpoints, createTrustBundleEndpoints(get)))
  if (get(tokens.options).demo?.device) others.push(...listed(demoEndpoints, { demoPayment: createDemoPayment(get) }))
  if (registration.mode !== 'off') others.push(...listed(registrationEndpoints, createRegistrationEndpoints(get)))
  if (get(tokens.config).key_log) others.push(...listed(keyLogEndpoints, createKeyLogEndpoints(get)))
  const served = [...Object.values(machineEndpoints), ...others]
  return [...listed(machineEndpoints, createMachineEndpoints(get, served)), ...others]
}

const createDemoPayment = (get: Resolve): Handler => {
  const { issuer, attestation } = get(tokens.config)
  return createDemoPaymentEndpoint({ issuer, clock: get(tokens.clock), attestationType: attestation?.typ })
}

/** Wraps every answer in what the endpoint declares: its limits, and the record of refusals. */
const createBehindLimits = (get: Resolve) => {
  const { rate_limits: rates } = get(tokens.config)
  const limits = get(tokens.rateLimits)
  const refusals = get(tokens.refusals)
  return (declaration: Limited, handler: RecordedHandler): Endpoint => {
    const { limit, refusedEvent } = declaration
    // A handler without a name for its refusals does not say who sent the request (`HandlerOf`).
    const recorded = refusedEvent === undefined ? (handler as Handler) : refusals.recording(refusedEvent, handler)
    const perMinute = rates[limit.byAddress].address_per_minute
    const answer = limits.byAddress(limit.countedAs ?? limit.byAddress, perMinute, recorded)
    const { address_per_minute: requests, address_chains_per_minute: chains } = rates.refused
    return { ...declaration, answer: limit.byRefusals ? limits.byRefusals({ requests, chains }, answer) : answer }
  }
}

/** A generation as requests see it. */
export interface Serving {
  readonly uses: InFlight
  /** The endpoints that depend on the generation, by path. */
  readonly endpoints: ReadonlyMap<string, Endpoint>
  /** The pages in the theme of the generation. */
  readonly pages: Pages
  /** Signs with the keys of the generation. */
  readonly signLogoutToken: SignLogoutToken
}

/**
 * The endpoints of the current generation. A reload never adds or removes one. One generation answers a request from
 * its first step to its last, and the request counts as a use of it.
 */
export const liveEndpoints = (serving: () => Serving): readonly Endpoint[] =>
  [...serving().endpoints.values()].map((first) => ({
    ...first,
    answer: (request) => {
      const { endpoints, uses } = serving()
      const { answer } = endpoints.get(first.path) ?? first
      const reply = answer(request)
      return reply instanceof Promise ? uses.during(reply) : reply
    },
  }))
