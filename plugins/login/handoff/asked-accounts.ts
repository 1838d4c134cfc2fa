import { isObject, Unavailable, type Account, type Services } from '../../../core/api/index.js'
import type { HandoffOptions } from './options.js'

type AskedOptions = NonNullable<HandoffOptions['accounts']>

interface Kept {
  readonly at: number
  readonly account: Account | undefined
}

const maxKept = 10_000

/**
 * Accounts that are queried from the organisation's own service. Answers are cached for seconds; an outage never
 * means "no account".
 */
export const createAskedAccounts = (
  { url, secret, cache_secs: seconds }: AskedOptions,
  { outbound, clock }: Pick<Services, 'outbound' | 'clock'>,
) => {
  const kept = new Map<string, Kept>()

  const ask = async (subject: string, signal: AbortSignal): Promise<Account | undefined> => {
    const answer = await outbound.ask({ url, secret }, { type: 'account', subject }, signal)
    if (answer?.['account'] === null) return undefined
    if (!isObject(answer?.['account']))
      throw new Unavailable('sign-in', 'no', 'The service of the accounts answered with something else')
    return { subject, claims: answer['account'] }
  }

  return async (subject: string, signal: AbortSignal): Promise<Account | undefined> => {
    const known = kept.get(subject)
    const age = known === undefined ? Infinity : clock() - known.at
    if (known !== undefined && age >= 0 && age < seconds * 1000) return known.account
    const account = await ask(subject, signal)
    kept.delete(subject)
    kept.set(subject, { at: clock(), account })
    const [oldest] = kept.keys()
    if (kept.size > maxKept && oldest !== undefined) kept.delete(oldest)
    return account
  }
}
