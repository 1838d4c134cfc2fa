import { openAccountStore, addAccount } from '../../../core/interaction/accounts.js'
import { createPasswordHasher } from '../../../core/interaction/password-hasher.js'
import { join } from 'node:path'
import { openTestRecords } from '../stores/test-stores.js'
import { readSection, type AccountVisitor } from './account-visitor.js'

export interface StoredPerson {
  readonly username: string
  readonly password: string
  readonly sub: string
}

/** Adds accounts to the store of a server, as `signet accounts add` does. */
export const addPeople = async (directory: string, ...people: readonly StoredPerson[]): Promise<void> => {
  await using records = await openTestRecords(join(directory, 'store'), Date.now)
  for (const person of people) {
    const { outcome } = await addAccount(openAccountStore(records), createPasswordHasher(), person)
    if (outcome !== 'added') throw new Error(`${person.username}: ${outcome}`)
  }
}

/** The fields of the form at `/account/password`. */
export const passwordFields = (current: string, next: string, again = next) => ({
  action: 'change',
  current_password: current,
  new_password: next,
  new_password_again: again,
})

/** Opens the form, sends it, and says what the page shows then. */
export const changePassword = async (visitor: AccountVisitor, ...typed: Parameters<typeof passwordFields>) => {
  const { csrf } = readSection((await visitor.page('/account/password')).html, 'password')
  const answer = await visitor.post('password', { csrf, ...passwordFields(...typed) })
  return { ...answer, csrf, section: readSection(answer.html, 'password') }
}
