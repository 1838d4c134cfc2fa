/** This grant is off until the configuration enables it. */
export const tokenExchange = 'urn:ietf:params:oauth:grant-type:token-exchange'

interface Switches {
  readonly grant_types_supported?: readonly (string | undefined)[] | undefined
  readonly token_exchange_enabled?: boolean | undefined
}

/** Returns those of the `provided` grant types that the configuration leaves enabled. */
export const enabledGrants = (config: Switches, provided: Iterable<string>): readonly string[] =>
  [...provided].filter(
    (name) =>
      (config.grant_types_supported?.includes(name) ?? true) &&
      (name !== tokenExchange || config.token_exchange_enabled === true),
  )
