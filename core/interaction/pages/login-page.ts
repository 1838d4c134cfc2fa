import type { JsonObject } from '../../json.js'
import type { Translator } from '../languages/translator.js'
import { logoOrigin, webAddress } from './client-on-page.js'
import { definePage, showAccount, showClientOf, showForm, type AccountOnPage, type ClientFormPage } from './page.js'
import { sample } from './sample.js'
import { tooManyText } from './wait-text.js'

/**
 * Why a method signed nobody in. `again` means that the input was right, but something changed in the meantime.
 * `late` means that the input was used before or has expired.
 */
export type SignInProblem = 'wrong' | 'locked' | 'again' | 'late' | 'unavailable'

/**
 * A way to sign in. Its form has the field `method`, and `attempt` if there is one; `begin` requests another attempt.
 */
export interface MethodOnPage {
  readonly id: string
  /** The label of its button, by language. When absent, the id is used. */
  readonly title?: Readonly<Record<string, string>>
  /** An https URL. */
  readonly logo?: string
  /**
   * How the method asks: fields `username` and `password`, a field `code`, a browser API whose result is sent as the
   * field `answer`, or a button.
   */
  readonly ask:
    | { readonly kind: 'password' | 'button' }
    | { readonly kind: 'code'; readonly recoveryCodes?: true }
    | { readonly kind: 'ceremony'; readonly options: JsonObject }
  readonly attempt?: string | undefined
  readonly problem?: SignInProblem
  /** With `locked`, the time until the next attempt is accepted. */
  readonly retryAfterSeconds?: number
}

/** The form sends `csrf` and the fields of a method. `#login-submit` is the button of the first method. */
export interface LoginPage extends ClientFormPage {
  /**
   * What the sign-in is for when no client waits. `confirmation` means that the person is signed in, but the sign-in
   * is not recent enough.
   */
  readonly purpose?: 'device' | 'account' | 'confirmation'
  /** The value of the field `username`: `login_hint`, or what was typed before. It is untrusted. */
  readonly username?: string | undefined
  /** The methods, with the one that is shown open first. */
  readonly methods: readonly MethodOnPage[]
  /** The first method has been passed; the one on the page follows it. */
  readonly isSecond?: boolean
  /** The account that the second factor belongs to. */
  readonly account?: AccountOnPage
  /** Buttons that ask for another second factor. They send `attempt`, `instead_of` and `method`. */
  readonly instead?: readonly Pick<MethodOnPage, 'id' | 'title'>[]
  /** The second factor that the person chose instead but has not set up. */
  readonly notSetUp?: Pick<MethodOnPage, 'id' | 'title'>
  /** The URL, of this issuer, that `Cancel` leads to when no client waits. */
  readonly leaveUrl?: string
  /** The page offers a button with `name="decision" value="cancel"` that needs no username or password. */
  readonly cancel?: boolean
}

const titleOf = (translator: Translator, { id, title }: Pick<MethodOnPage, 'id' | 'title'>): string =>
  translator.own(title) ?? id

const problemText = (translator: Translator, method: MethodOnPage, problem: SignInProblem): string => {
  switch (problem) {
    case 'wrong':
      if (method.ask.kind === 'password') return translator.text('login.wrong')
      if (method.ask.kind === 'code') return translator.text('login.wrong_code')
      return translator.text('login.failed', { method: titleOf(translator, method) })
    case 'again':
      return translator.text('login.again')
    case 'late':
      return translator.text('login.late')
    case 'locked':
      return tooManyText(translator, method.retryAfterSeconds ?? 0)
    case 'unavailable':
      return translator.text('login.unavailable', { method: titleOf(translator, method) })
  }
}

/** Returns the methods of the login page in the form that its view uses: the one that is shown open, and the others. */
const describeMethods = (
  translator: Translator,
  { methods, isSecond, instead = [], notSetUp }: Pick<LoginPage, 'methods' | 'isSecond' | 'instead' | 'notSetUp'>,
) => {
  const missing = notSetUp && translator.text('login.not_set_up', { method: titleOf(translator, notSetUp) })
  const [front, ...others] = methods.map((method) => {
    const { id, logo, ask, attempt } = method
    const takesRecoveryCodes = ask.kind === 'code' && ask.recoveryCodes === true
    return {
      id,
      attempt,
      kind: ask.kind,
      title: titleOf(translator, method),
      logo: logoOrigin(logo) && webAddress(logo),
      problem: method.problem ? problemText(translator, method, method.problem) : missing,
      takesRecoveryCodes,
      describedBy: [
        ...(method.problem || missing ? ['problem'] : []),
        ...(takesRecoveryCodes ? ['code-recovery'] : []),
      ].join(' '),
      options: ask.kind === 'ceremony' ? JSON.stringify(ask.options) : undefined,
    }
  })
  // A password form on its own needs no name.
  const isNamed = others.length > 0 || front?.kind !== 'password'
  const offered = instead.map((method) => ({ id: method.id, title: titleOf(translator, method) }))
  return { front, others, isNamed, isSecond: isSecond === true, instead: offered }
}

const { name, form, ofClient } = sample
const title = { en: name }
const methods: readonly MethodOnPage[] = [
  { id: 'password', title, ask: { kind: 'password' }, problem: 'wrong' },
  {
    id: 'elsewhere',
    title,
    logo: 'https://elsewhere.example/logo.png',
    ask: { kind: 'button' },
    problem: 'unavailable',
  },
  { id: 'key', title, ask: { kind: 'ceremony', options: { challenge: name } }, attempt: 'attempt-of-the-sample' },
]
const code: MethodOnPage = {
  id: 'code',
  title,
  ask: { kind: 'code', recoveryCodes: true },
  attempt: 'attempt-of-the-sample',
}

export const loginPage = definePage<LoginPage>({
  view: 'login',
  describe: (page, { translator }) => ({
    title: translator.text('login.title'),
    ...showForm(page),
    ...showClientOf(page),
    lead: translator.text(`login.to_${page.purpose ?? 'device'}`),
    username: page.username ?? '',
    ...describeMethods(translator, page),
    ...(page.account && showAccount(page.account)),
    leaveUrl: page.leaveUrl,
    cancel: page.cancel === true,
  }),
  samples: {
    '': { ...ofClient, methods, username: name, cancel: true },
    'own page': { ...form, methods: methods.slice(0, 1), purpose: 'account' },
    'method elsewhere': { ...ofClient, methods: methods.slice(1), cancel: true },
    'second factor': { ...ofClient, methods: [code], isSecond: true, cancel: true },
  },
})
