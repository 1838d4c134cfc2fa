import type { Rule } from './rule.js'

const uses: Rule = ({ config: { request_uris: mode }, clients, report, isWhole }) => {
  if (!isWhole('request_uris') || mode === 'registered') return
  for (const [index, client] of clients.entries())
    if (client?.request_uris !== undefined)
      report(['clients', index, 'request_uris'], 'needs request_uris: registered in the configuration')
}

export const requestUriRules: readonly Rule[] = [uses]
