import type { Config } from '../../config/schema.js'
import type { HandlersOf } from '../endpoints/endpoint.js'
import { clientConfigurationEndpoint, createClientConfigurationEndpoint } from '../endpoints/registration/manage.js'
import { createRegistrationEndpoint, registrationEndpoint } from '../endpoints/registration/register.js'
import { allAlgorithms } from '../jose/algorithms.js'
import type { KeyPurpose } from '../keys/ports.js'
import { createInitialAccessTokens } from '../oauth/registration/initial-access-token.js'
import { createMakeClient } from '../oauth/registration/make-client.js'
import type { RegistrationPolicy } from '../oauth/registration/policy.js'
import { openBytes } from '../oauth/registration/open-size.js'
import { createRegisteredClients } from '../oauth/registration/registered-clients.js'
import { createSoftwareStatements } from '../oauth/registration/software-statement.js'
import { personalScopes } from '../oauth/requests/scope.js'
import { fapiAlgorithms, methodsOf } from '../oauth/clients/security-profile.js'
import { createIssuerKeys } from '../outbound/issuer-keys.js'
import { createOutboundFetch } from '../outbound/outbound-fetch.js'
import { createRemoteKeySets } from '../outbound/remote-key-sets.js'
import { findUnavailable } from '../checks/check-configuration.js'
import { tokens, type Resolve } from './injection-tokens.js'
import { createSlotsFor } from './people-endpoints.js'

/** The endpoints that are served where clients may register themselves (RFC 7591, RFC 7592). */
export const registrationEndpoints = {
  registration: registrationEndpoint,
  clientConfiguration: clientConfigurationEndpoint,
}

const unusedSeconds = ({ registration }: Config): number => registration.unused_days * 86_400

/** Registered clients are handled also where registration is closed, because those that have registered stay in use. */
export const createClientsThatRegistered = (get: Resolve) => {
  const { clients, openClients } = get(tokens.collections)
  const seconds = unusedSeconds(get(tokens.config))
  const kept = createSlotsFor(get, 'register_kept', get(tokens.config).rate_limits.register, 'registrations')
  return createRegisteredClients({
    clients,
    openClients,
    directory: get(tokens.clients),
    clock: get(tokens.clock),
    unusedSeconds: seconds,
    async reserveSlot(address, registration) {
      const entered = await kept.enter(address, seconds, openBytes(registration))
      return entered.allowed ? { leave: () => kept.leave(entered.place) } : undefined
    },
  })
}

const policiesOf = (get: Resolve) => {
  const { registration, scopes_supported: scopes, security_profile: ownProfile } = get(tokens.config)
  const grants = [...get(tokens.grants).keys()]
  const methods = [...get(tokens.registries).clientAuthenticators.keys()]
  const complete = (written: Config['registration']['policy']): RegistrationPolicy => {
    const securityProfile = written.security_profile ?? ownProfile
    return {
      grantTypes:
        written.grant_types ?? ['authorization_code', 'refresh_token'].filter((name) => grants.includes(name)),
      authMethods: written.token_endpoint_auth_methods ?? methodsOf(securityProfile, methods),
      scopes: written.scopes ?? scopes.filter((name) => personalScopes.has(name)),
      audiences: written.audiences,
      signingAlgs: written.signing_algs ?? (securityProfile === 'fapi2' ? fapiAlgorithms : allAlgorithms),
      detailsTypes: written.authorization_details_types,
      securityProfile,
      requireStatement: written.require_software_statement,
    }
  }
  const named = new Map(Object.entries(registration.policies).map(([name, written]) => [name, complete(written)]))
  const defaultPolicy = complete(registration.policy)
  return (name: string | undefined) => (name === undefined ? defaultPolicy : named.get(name))
}

const statementsOf = (get: Resolve) => {
  const { registration, issuer, clock_tolerance_secs: toleranceSeconds } = get(tokens.config)
  const [clock, log] = [get(tokens.clock), get(tokens.log)]
  // The hosts that the configuration names may be on any network.
  const fetch = createOutboundFetch({ allowPrivateAddresses: true })
  const issuers = registration.software_statements.map((written) => ({
    ...written,
    signingAlgs: written.signing_algs,
    maxAgeSeconds: written.max_age_secs,
  }))
  const keys = createIssuerKeys(createRemoteKeySets({ owner: 'statement_issuer', fetch, clock, log }))
  return createSoftwareStatements({ issuers, keys, issuer, clock, toleranceSeconds })
}

const makeClientOf = (get: Resolve) => {
  const config = get(tokens.config)
  const registries = get(tokens.registries)
  const ring = get(tokens.ring)
  // No account can have the random id of a client, and no schema of details needs to be compiled for it.
  const types = config.authorization_details_types.map(({ type }) => ({ type }))
  const deployment = { ...config, accounts: [], authorization_details_types: types }
  const ownFirst = (purpose: KeyPurpose) =>
    ring.algorithms(purpose).toSorted((one) => (one === config.id_token_signing_alg ? -1 : 0))
  return createMakeClient({
    idTokenAlgs: () => ownFirst('id_token'),
    logoutTokenAlgs: () => ring.algorithms('logout_token'),
    allowPrivateAddresses: config.outbound.allow_private_addresses,
    findUnavailable: (client) => findUnavailable(deployment, registries, client),
    checkSector: get(tokens.checkSector),
  })
}

export const createRegistrationEndpoints = (get: Resolve): HandlersOf<typeof registrationEndpoints> => {
  const config = get(tokens.config)
  const options = {
    issuer: config.issuer,
    isOpen: config.registration.mode === 'open',
    policyOf: policiesOf(get),
    initialAccessTokens: createInitialAccessTokens(get(tokens.collections).initialAccessTokens),
    statements: statementsOf(get),
    makeClient: makeClientOf(get),
    clients: get(tokens.registeredClients),
    openRegistrations: createSlotsFor(get, 'register_open', config.rate_limits.register, 'registrations'),
    unusedSeconds: unusedSeconds(config),
    audit: get(tokens.audit),
    clock: get(tokens.clock),
  }
  return {
    registration: createRegistrationEndpoint(options),
    clientConfiguration: createClientConfigurationEndpoint(options),
  }
}
