import { loginPage, type MethodOnPage } from '../../../core/interaction/pages/login-page.js'
import type { SpokenPages } from '../../../core/interaction/pages/pages.js'
import { consentPage } from '../../../core/interaction/pages/consent-page.js'
import { deviceConfirmPage } from '../../../core/interaction/pages/device-confirm-page.js'
import { devicePage } from '../../../core/interaction/pages/device-page.js'
import { errorPage } from '../../../core/interaction/pages/error-page.js'
import { leavingPage } from '../../../core/interaction/pages/leaving-page.js'
import { logoutPage } from '../../../core/interaction/pages/logout-page.js'
import { selectPage } from '../../../core/interaction/pages/select-page.js'
import { signedOutPage } from '../../../core/interaction/pages/signed-out-page.js'
import type { PageKind } from '../../../core/interaction/pages/page.js'
import { kindSamples } from './kind-samples.js'
import { onlyPassword } from './only-password.js'
import { sampleAccountPages } from './sample-account-pages.js'

const long = 'Rindfleischetikettierungsüberwachungsaufgabenübertragungsgesetz'
const account = { name: 'Alice Adams', otherUrl: '#other' }
const everything = {
  scopes: ['openid', 'profile', 'email', 'address', 'phone', 'offline_access', 'payments:initiate', 'umlaute:größe'],
  claims: ['birthdate', 'shoe_size'],
  resources: [`https://api.bank.example/${'v'.repeat(60)}`],
}
const payment = {
  title: { de: 'Überweisung ausführen' },
  lines: [
    { label: { de: 'Betrag' }, text: '12,34 €' },
    { label: { de: 'Empfänger' }, text: `Straßenbahn-Gesellschaft ${long}` },
  ],
}

const codeMethod: MethodOnPage = {
  id: 'totp',
  title: { en: 'Authenticator app', de: 'Authenticator-App', ar: 'تطبيق المصادقة' },
  ask: { kind: 'code', recoveryCodes: true },
}

/** A password, two upstream providers with their logos, and a passkey. */
const methodsWith = (logo: string): readonly MethodOnPage[] => [
  { id: 'password', ask: { kind: 'password' }, title: { en: 'Password', de: 'Passwort', ar: 'كلمة المرور' } },
  {
    id: 'corp',
    ask: { kind: 'button' },
    title: { en: 'Corporate account', de: 'Firmenkonto', ar: 'حساب الشركة' },
    logo,
  },
  {
    id: 'partner',
    ask: { kind: 'button' },
    title: { en: 'Account of a partner whose name is as long as names can be' },
    logo,
  },
  {
    id: 'passkey',
    ask: { kind: 'ceremony', options: { challenge: 'AAAA', rpId: '127.0.0.1' } },
    title: { en: 'Passkey', de: 'Passkey', fr: 'Clé d’accès', es: 'Llave de acceso', ar: 'مفتاح مرور' },
    attempt: 'attempt',
  },
]

/**
 * The samples of every kind of page, and further states that people meet, by a name for a picture. `logo` is a picture
 * that loads.
 */
export const samplePages = (
  kinds: readonly PageKind<unknown>[],
  pages: SpokenPages,
  origin: string,
  logo: string,
): ReadonlyMap<string, string> => {
  const form = { action: `${origin}/post`, csrf: 'token' }
  const methods = methodsWith(logo)
  const plain = { name: 'Teller' }
  const links = {
    clientUri: 'https://teller.example/',
    policyUri: 'https://teller.example/p',
    tosUri: 'https://t.example/',
  }
  const full = { ...plain, logoUri: logo, ...links }
  const stranger = { ...full, name: long, isUnchecked: true, returnsTo: `${'a'.repeat(60)}.elsewhere.example:8443` }
  const people = [
    { id: 'a', name: 'Jürgen Groß', secondName: 'jürgen', isHinted: false },
    { id: 'b', name: long, secondName: `${long}@bank.example`, isHinted: false },
  ]
  const device = { ...form, account, userCode: 'BCDF-GHJK', scopes: everything.scopes, resources: [] }
  const error = { status: 400, title: 'Sign-in error', requestId: 'a0'.repeat(16) }
  const second = {
    isSecond: true,
    account,
    instead: methods.slice(3).map(({ id, title }) => ({ id, title: title ?? {} })),
  }
  return new Map([
    ...kindSamples(kinds, pages, { text: long, origin, logo }),
    ['login', pages.show(loginPage, { ...onlyPassword(), ...form, client: plain, cancel: true })],
    [
      'login-wrong',
      pages.show(loginPage, {
        ...onlyPassword({ problem: 'wrong' }),
        ...form,
        client: full,
        username: 'alice',
        cancel: true,
      }),
    ],
    [
      'login-locked',
      pages.show(loginPage, {
        ...onlyPassword({ problem: 'locked', retryAfterSeconds: 90 }),
        ...form,
        client: plain,
        username: long,
      }),
    ],
    ['login-stranger', pages.show(loginPage, { ...onlyPassword(), ...form, client: stranger, cancel: true })],
    ['login-methods', pages.show(loginPage, { ...form, methods, client: plain, cancel: true })],
    [
      'login-methods-failed',
      pages.show(loginPage, {
        ...form,
        methods: methods.map((method, index) =>
          index === 1 ? { ...method, problem: 'unavailable' as const } : method,
        ),
        client: full,
        username: 'alice',
        cancel: true,
      }),
    ],
    [
      'login-remembered',
      pages.show(loginPage, {
        ...form,
        methods: [1, 0, 3].flatMap((index) => methods[index] ?? []),
        client: plain,
        cancel: true,
      }),
    ],
    [
      'login-method',
      pages.show(loginPage, {
        ...form,
        methods: methods.slice(1, 2).map((method) => ({ ...method, problem: 'wrong' as const })),
        client: plain,
        cancel: true,
      }),
    ],
    [
      'login-passkey',
      pages.show(loginPage, { ...form, ...second, methods: methods.slice(3), client: plain, cancel: true }),
    ],
    ['login-code', pages.show(loginPage, { ...form, ...second, methods: [codeMethod], client: plain, cancel: true })],
    [
      'login-code-account',
      pages.show(loginPage, { ...form, ...second, methods: [codeMethod], purpose: 'account', leaveUrl: '#home' }),
    ],
    [
      'login-code-wrong',
      pages.show(loginPage, {
        ...form,
        methods: [{ ...codeMethod, problem: 'wrong' }],
        isSecond: true,
        client: plain,
        cancel: true,
      }),
    ],
    ['login-account', pages.show(loginPage, { ...onlyPassword(), ...form, purpose: 'account' })],
    ['select', pages.show(selectPage, { ...form, client: full, accounts: people, otherUrl: '#other', cancel: true })],
    [
      'select-gone',
      pages.show(selectPage, { ...form, client: stranger, accounts: people, otherUrl: '#other', problem: 'gone' }),
    ],
    [
      'consent',
      pages.show(consentPage, { ...form, client: plain, account, scopes: ['openid'], claims: [], resources: [] }),
    ],
    ['consent-full', pages.show(consentPage, { ...form, client: full, account, ...everything, details: [payment] })],
    [
      'consent-stranger',
      pages.show(consentPage, { ...form, client: stranger, account: { name: long }, ...everything }),
    ],
    ['device', pages.show(devicePage, { ...form, account })],
    [
      'device-confirm',
      pages.show(deviceConfirmPage, {
        ...device,
        client: stranger,
        place: { address: '2001:db8::ffff:1234', here: false },
      }),
    ],
    ['leaving', pages.show(leavingPage, { client: stranger, url: '#elsewhere' })],
    ['signed-out-stranger', pages.show(signedOutPage, { client: stranger, returnUrl: '#elsewhere' })],
    ['logout', pages.show(logoutPage, { ...form, client: full, account, others: [long], parameters: {} })],
    ['signed-out', pages.show(signedOutPage, { client: plain, backUrl: 'https://teller.example/login' })],
    [
      'error of a loopback issuer',
      pages.show(errorPage, {
        ...error,
        title: 'Authorization error',
        message: 'The redirect URI is not registered for this client.',
        clientName: 'Teller',
        facts: {
          client_id: 'shop',
          redirect_uri: 'http://localhost:5520/callback/',
          redirect_uris: 'http://localhost:5520/callback https://shop.example/callback',
          hint: 'differs by the slash at the end',
        },
      }),
    ],
    ['error', pages.show(errorPage, { ...error, message: 'The parameter claims is malformed.' })],
    [
      'expired',
      pages.show(errorPage, {
        ...error,
        message: 'This sign-in was already used. Go back to the application and start again.',
        clientName: long,
        backUrl: origin,
      }),
    ],
    ...sampleAccountPages(pages, { origin, full, long, everything, payment }),
  ])
}
