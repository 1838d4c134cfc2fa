import { describe, expect, it } from 'vitest'
import { joinAccounts, type AccountLookup } from '../../core/oauth/subjects/account.js'
import { Unavailable } from '../../core/unavailable.js'

const { signal } = new AbortController()

const lookup = (known: string): AccountLookup => ({
  find: async (subject) => (subject === known ? { subject, claims: {} } : undefined),
  findByUsername: async (name) => (name === known ? { subject: `sub-${name}`, claims: {} } : undefined),
})
const down: AccountLookup = {
  find: async (subject) => {
    if (subject !== 'nobody') return undefined
    throw new Unavailable('directory', 'no', 'The directory did not answer.')
  },
}

describe('the accounts of several plugins', () => {
  it('are asked for in order, and an outage is never an account that is gone', async () => {
    const joined = joinAccounts([lookup('a'), down, lookup('b')])
    for (const known of ['a', 'b']) {
      expect(await joined?.find(known, signal)).toEqual({ subject: known, claims: {} })
      expect(await joined?.findByUsername?.(known, signal)).toMatchObject({ subject: `sub-${known}` })
    }
    expect(await joined?.find('c', signal)).toBeUndefined()
    expect(await joined?.findByUsername?.('c', signal)).toBeUndefined()
    await expect(joined?.find('nobody', signal)).rejects.toThrow(Unavailable)
  })

  it('are known without a question only where no other lookup comes before', () => {
    const knowing = { ...lookup('b'), peek: (subject: string) => ({ subject, claims: {} }) }
    expect(joinAccounts([knowing, lookup('a')])?.peek?.('b')).toEqual({ subject: 'b', claims: {} })
    expect(joinAccounts([lookup('a'), knowing])?.peek?.('b')).toBeUndefined()
  })

  it('are those of the one plugin that has some, or nobody', () => {
    const only = lookup('a')
    expect(joinAccounts([only])).toBe(only)
    expect(joinAccounts([])).toBeUndefined()
  })
})
