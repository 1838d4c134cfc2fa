import { cibaGrant } from '../oauth/ciba/request.js'
import { pingEndpoint } from '../oauth/ciba/ping.js'
import { isPrivateHost } from '../oauth/registration/public-uris.js'
import type { Rule } from './rule.js'

const pings: Rule = ({ config, clients, report, warn, isValid }) => {
  for (const [index, client] of clients.entries()) {
    const endpoint = client && pingEndpoint(client)
    if (endpoint === undefined) continue
    if (client?.grant_types.includes(cibaGrant) === false)
      report(['clients', index, 'backchannel_token_delivery_mode'], `needs the grant ${cibaGrant}`)
    if (isValid('outbound') && config.outbound?.allow_private_addresses === false && isPrivateHost(endpoint))
      warn(
        ['clients', index, 'backchannel_client_notification_endpoint'],
        'is private: nothing is sent there without outbound.allow_private_addresses',
      )
  }
}

const pairwise: Rule = ({ config: { pairwise_key: key }, clients, report, isValid }) => {
  if (!isValid('pairwise_key') || key !== undefined) return
  for (const [index, client] of clients.entries())
    if (client?.subject_type === 'pairwise')
      report(['clients', index, 'subject_type'], 'pairwise needs pairwise_key in the configuration')
}

const requestUris: Rule = ({ config: { request_uris: mode }, clients, report, isValid }) => {
  if (!isValid('request_uris') || mode === 'registered') return
  for (const [index, client] of clients.entries())
    if (client?.request_uris !== undefined)
      report(['clients', index, 'request_uris'], 'needs request_uris: registered in the configuration')
}

/** Checks what settings of clients need elsewhere in the configuration. */
export const clientRules: readonly Rule[] = [pings, pairwise, requestUris]
