import type { Contributions } from '../../../core/modules/contract.js'
import type { SignInAttempt, SignInMethod, SignInResult } from '../../../core/interaction/sign-in-method.js'

type Check = (
  typed: { readonly username: string; readonly password: string },
  attempt: SignInAttempt,
) => Promise<SignInResult>

/** A double of the password method: what was typed is right where `check` says so. */
export const passwordDouble = (check: Check, amr: readonly string[] = ['pwd']): ReadonlyMap<string, SignInMethod> =>
  new Map([
    [
      'password',
      {
        ...{ id: 'password', kind: 'form', amr },
        begin: async () => ({ kind: 'form', fields: 'password' }),
        finish: (attempt, { username = '', password = '' }) => check({ username, password }, attempt),
      },
    ],
  ])

/** What the method `password` of a plugin says of a form from this address. */
export const finishPassword = async (
  { signIn }: Contributions,
  typed: { readonly username: string; readonly password: string },
  address: string,
): Promise<SignInResult> => {
  const method = signIn?.find(({ id }) => id === 'password')
  if (method === undefined) throw new Error('there is no method password')
  const attempt: SignInAttempt = {
    ...{ id: 'attempt', interactionId: 'interaction', challenge: 'challenge' },
    callbackUrl: 'https://issuer.example/sign-in/password/callback',
    from: { address },
    request: { scopes: [], acrValues: [], uiLocales: [] },
    signal: new AbortController().signal,
  }
  return method.finish(attempt, typed)
}
