import { createHash } from 'node:crypto'
import { z } from 'zod'
import {
  definePlugin,
  Unavailable,
  type Account,
  type AccountRecord,
  type AttemptPolicy,
  type LoginOrigin,
  type SignInResult,
} from '../../../core/api/index.js'
import { addressBucket, canonicalUsername, findPasswordFault } from '../../../core/api/internal.js'

const policy = (defaults: { free: number; base: number; max: number; forget: number }) =>
  z.strictObject({
    free: z.int().min(1).default(defaults.free),
    base_delay_secs: z.int().min(1).default(defaults.base),
    max_delay_secs: z.int().min(1).default(defaults.max),
    forget_after_secs: z.int().min(1).default(defaults.forget),
  })

const perUsername = policy({ free: 5, base: 1, max: 900, forget: 86_400 })
/**
 * Many people may share an address, and one person's success does not clear the counts of others, so this slows
 * guessing and locks nobody out.
 */
const perAddress = policy({ free: 100, base: 1, max: 5, forget: 900 })

const options = perUsername.extend({ address: perAddress.prefault({}) }).prefault({})

const toPolicy = (wire: z.output<typeof perAddress>): AttemptPolicy => ({
  free: wire.free,
  baseDelaySeconds: wire.base_delay_secs,
  maxDelaySeconds: wire.max_delay_secs,
  forgetAfterSeconds: wire.forget_after_secs,
})

/** Hashed, because people type passwords into the wrong field. */
const attemptIdOf = (username: string): string =>
  createHash('sha256')
    .update(canonicalUsername(username) ?? username)
    .digest('base64url')

/**
 * Username and password, from the configuration's `accounts:` and the store, with a growing delay for guesses. A
 * browser in which the person has signed in before has its own count.
 */
export default definePlugin({
  name: 'password',
  apiVersion: 1,
  options,
  needs: ['accounts', 'passwords', 'attempts'],
  create: (configured: z.output<typeof options>, { accounts, passwords, attempts }) => {
    const usernamePolicy = toPolicy(configured)
    const addressPolicy = toPolicy(configured.address)

    const takeAttempt = async (attemptId: string, from: LoginOrigin): Promise<Locked | undefined> => {
      const bucket = addressBucket(from.address)
      const byAddress = bucket && (await attempts.take('login_address', bucket, addressPolicy))
      if (byAddress && !byAddress.allowed) return locked(byAddress.retryAfterSeconds)
      // Strangers only fill the count of the name. The holder of the cookie can guess no faster than they can.
      const { allowed, retryAfterSeconds } =
        from.knownBrowser === undefined
          ? await attempts.take('login', attemptId, usernamePolicy)
          : await attempts.take('login_browser', from.knownBrowser, usernamePolicy)
      return allowed ? undefined : locked(retryAfterSeconds)
    }

    const clearAttempts = async (attemptId: string, { address, knownBrowser }: LoginOrigin): Promise<void> => {
      const bucket = addressBucket(address)
      await Promise.all([
        bucket !== undefined && attempts.giveBack('login_address', bucket),
        attempts.clear('login', attemptId),
        knownBrowser !== undefined && attempts.clear('login_browser', knownBrowser),
      ])
    }

    /** Replaces the hash of another product while the password is at hand. */
    const replaceHash = async (account: AccountRecord, password: string, from: LoginOrigin): Promise<void> => {
      try {
        await accounts.replacePassword(account, await passwords.hash(password, from.address))
      } catch (error) {
        // The next sign-in replaces it.
        if (!(error instanceof Unavailable)) throw error
      }
    }

    return {
      signIn: [
        {
          id: 'password',
          kind: 'form',
          amr: ['pwd'],
          title: { en: 'Password', de: 'Passwort', fr: 'Mot de passe', es: 'Contraseña', ar: 'كلمة المرور' },
          form: 'password',
          begin: async () => ({ kind: 'form', fields: 'password' }),
          finish: async ({ from }, { username = '', password = '' }) => {
            const attemptId = attemptIdOf(username)
            // Counted before the look-up and the hash, so that parallel guesses are counted and unknown names are
            // delayed alike.
            const refusal = await takeAttempt(attemptId, from)
            if (refusal) return refusal
            const account = await accounts.findByUsername(username)
            const matches = await passwords.verify(password, account?.password_hash, from.address)
            if (!account || !matches || account.disabled) return { outcome: 'refused', subject: account?.sub }
            await clearAttempts(attemptId, from)
            if (!account.fixed && !passwords.isOwn(account.password_hash)) await replaceHash(account, password, from)
            return { outcome: 'passed', subject: account.sub, amr: ['pwd'] }
          },
        },
      ],
      passwordChange: async ({ subject, current, next }, from) => {
        const account = await accounts.findBySubject(subject)
        if (account === undefined || account.disabled) return { outcome: 'refused' }
        const attemptId = attemptIdOf(account.username)
        const refusal = await takeAttempt(attemptId, from)
        if (refusal) return refusal
        if (!(await passwords.verify(current, account.password_hash, from.address))) return { outcome: 'refused' }
        await clearAttempts(attemptId, from)
        const fault =
          next === current ? 'must not be the one that you have now' : findPasswordFault(next, account.username)
        if (fault !== undefined) return { outcome: 'unacceptable', fault }
        const hash = await passwords.hash(next, from.address)
        return { outcome: 'allowed', apply: () => accounts.replacePassword(account, hash) }
      },
      passwordReset: async ({ subject, next }) => {
        const account = await accounts.findBySubject(subject)
        if (account === undefined || account.disabled) return { outcome: 'refused' }
        const fault = findPasswordFault(next, account.username)
        if (fault !== undefined) return { outcome: 'unacceptable', fault }
        const hash = await passwords.hash(next)
        const apply = async (): Promise<boolean> => {
          if (!(await accounts.replacePassword(account, hash))) return false
          // A person who forgot a password has guessed before, and can sign in now.
          await attempts.clear('login', attemptIdOf(account.username))
          return true
        }
        return { outcome: 'allowed', apply }
      },
      accounts: {
        find: async (subject) => toAccount(await accounts.findBySubject(subject)),
        peek: (subject) => toAccount(accounts.peekBySubject(subject)),
        has: async (subject) => (await accounts.findBySubject(subject)) !== undefined,
        findByUsername: async (username) => toAccount(await accounts.findByUsername(username)),
      },
    }
  },
})

const toAccount = (record: AccountRecord | undefined): Account | undefined => {
  if (record === undefined || record.disabled) return undefined
  const { sub, claims, fixed } = record
  return { subject: sub, claims, ...(fixed && { passwordFixed: fixed }) }
}

type Locked = Extract<SignInResult, { readonly outcome: 'locked' }>

const locked = (retryAfterSeconds: number): Locked => ({ outcome: 'locked', retryAfterSeconds })
