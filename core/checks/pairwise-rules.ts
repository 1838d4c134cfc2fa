import type { Rule } from './rule.js'

const needsKey: Rule = ({ config: { pairwise_key: key }, clients, report, isWhole }) => {
  if (!isWhole('pairwise_key') || key !== undefined) return
  for (const [index, client] of clients.entries())
    if (client?.subject_type === 'pairwise')
      report(['clients', index, 'subject_type'], 'pairwise needs pairwise_key in the configuration')
}

export const pairwiseRules: readonly Rule[] = [needsKey]
