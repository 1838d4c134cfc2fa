import { cibaGrant } from '../oauth/ciba/request.js'
import { pingEndpoint } from '../oauth/ciba/ping.js'
import { isPrivateHost } from '../oauth/registration/public-uris.js'
import type { Rule } from './rule.js'

const pings: Rule = ({ config, clients, report, warn, isWhole }) => {
  for (const [index, client] of clients.entries()) {
    const endpoint = client && pingEndpoint(client)
    if (endpoint === undefined) continue
    if (client?.grant_types.includes(cibaGrant) === false)
      report(['clients', index, 'backchannel_token_delivery_mode'], `needs the grant ${cibaGrant}`)
    if (isWhole('outbound') && config.outbound?.allow_private_addresses === false && isPrivateHost(endpoint))
      warn(
        ['clients', index, 'backchannel_client_notification_endpoint'],
        'is private: nothing is sent there without outbound.allow_private_addresses',
      )
  }
}

export const cibaRules: readonly Rule[] = [pings]
