import type { SignInAttempt, SignInMethod } from '../../../core/interaction/sign-in-method.js'
import { Unavailable } from '../../../core/unavailable.js'

/** How a double fails: it throws what a bug, or an outage, throws, or never answers. */
export type Failure = 'bug' | 'outage' | 'hang'

/** Doubles of methods, and what the core has called them with. */
export interface MethodDouble extends SignInMethod {
  /** What `begin` does instead. */
  broken?: Failure | undefined
  /** Somebody has nothing for this method. */
  isMissing?: boolean
  readonly begun: SignInAttempt[]
  readonly finished: SignInAttempt[]
}

const fail = async (failure: Failure): Promise<never> => {
  if (failure === 'bug') throw new TypeError('a bug of the double')
  if (failure === 'outage') throw new Unavailable('double', 'no', 'The double is down.')
  return new Promise(() => undefined)
}

const isFailure = (text: string | undefined): text is Failure => text === 'bug' || text === 'outage' || text === 'hang'

const seconds = (text: string | undefined) => (text === undefined ? {} : { authTime: Number(text) })

type Declared = Pick<SignInMethod, 'id' | 'amr'> & Partial<SignInMethod>

/** Signs in `sub` of its callback, and fails as `fail` there says. */
export const redirectDouble = (declared: Declared): MethodDouble => {
  const double: MethodDouble = {
    ...declared,
    ...{ kind: 'redirect', begun: [], finished: [] },
    async begin(attempt) {
      double.begun.push(attempt)
      if (double.broken) return fail(double.broken)
      if (double.isMissing) return { kind: 'none' }
      const url = new URL(`https://elsewhere.example/${declared.id}`)
      url.searchParams.set('state', attempt.id)
      return { kind: 'redirect', url: url.href, keep: { seen: attempt.challenge } }
    },
    async finish(attempt, { sub, fail: failure, auth_time: authTime }) {
      double.finished.push(attempt)
      if (isFailure(failure)) return fail(failure)
      if (sub === undefined) return { outcome: 'refused', why: 'the double was told nobody' }
      return { outcome: 'passed', subject: sub, amr: declared.amr, username: 'typed-elsewhere', ...seconds(authTime) }
    },
  }
  return double
}

/** The answer to its challenge is the challenge and the subject: `{challenge}:{sub}`. */
export const ceremonyDouble = (declared: Declared): MethodDouble => {
  const double: MethodDouble = {
    ...declared,
    ...{ kind: 'ceremony', begun: [], finished: [] },
    async begin(attempt) {
      double.begun.push(attempt)
      if (double.broken) return fail(double.broken)
      return double.isMissing ? { kind: 'none' } : { kind: 'ceremony', options: { challenge: attempt.challenge } }
    },
    async finish(attempt, { answer = '' }) {
      double.finished.push(attempt)
      const [challenge, subject = ''] = answer.split(':')
      return challenge === attempt.challenge
        ? { outcome: 'passed', subject, amr: declared.amr }
        : { outcome: 'refused', why: 'another challenge' }
    },
  }
  return double
}

/** Its code is 123456. */
export const codeDouble = (declared: Declared): MethodDouble => {
  const double: MethodDouble = {
    ...declared,
    ...{ kind: 'form', begun: [], finished: [] },
    async begin(attempt) {
      double.begun.push(attempt)
      if (double.broken) return fail(double.broken)
      return double.isMissing ? { kind: 'none' } : { kind: 'form', fields: 'code' }
    },
    async finish(attempt, { code, as }) {
      double.finished.push(attempt)
      if (isFailure(code)) return fail(code)
      const { subject = '' } = attempt.passed ?? {}
      if (code !== '123456') return { outcome: 'refused', subject }
      return { outcome: 'passed', subject: as ?? subject, amr: declared.amr }
    },
  }
  return double
}
