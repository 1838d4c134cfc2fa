import { deviceResults } from '../../../core/interaction/pages/device-result-page.js'
import type { DeviceResultPage } from '../../../core/interaction/pages/device-result-page.js'
import type { MethodOnPage } from '../../../core/interaction/pages/login-page.js'
import type { SpokenPages } from '../../../core/interaction/pages/pages.js'
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

/** Every page of people in the states that they meet, by a name for its picture. `logo` is a picture that loads. */
export const samplePages = (pages: SpokenPages, origin: string, logo: string): ReadonlyMap<string, string> => {
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
  const others = { ...form, names: ['Jürgen Groß', long] }
  const device = { ...form, account, userCode: 'BCDF-GHJK', scopes: everything.scopes, resources: [] }
  const error = { status: 400, title: 'Sign-in error', requestId: 'a0'.repeat(16) }
  const second = {
    isSecond: true,
    account,
    instead: methods.slice(3).map(({ id, title }) => ({ id, title: title ?? {} })),
  }
  const outcomes = Object.keys(deviceResults) as DeviceResultPage['outcome'][]
  return new Map([
    ['login', pages.login({ ...onlyPassword(), ...form, client: plain, cancel: true })],
    [
      'login-wrong',
      pages.login({ ...onlyPassword({ problem: 'wrong' }), ...form, client: full, username: 'alice', cancel: true }),
    ],
    [
      'login-locked',
      pages.login({
        ...onlyPassword({ problem: 'locked', retryAfterSeconds: 90 }),
        ...form,
        client: plain,
        username: long,
      }),
    ],
    ['login-stranger', pages.login({ ...onlyPassword(), ...form, client: stranger, cancel: true })],
    ['login-methods', pages.login({ ...form, methods, client: plain, cancel: true })],
    [
      'login-methods-failed',
      pages.login({
        ...form,
        methods: methods.map((method, index) => (index === 1 ? { ...method, problem: 'unavailable' } : method)),
        client: full,
        username: 'alice',
        cancel: true,
      }),
    ],
    [
      'login-remembered',
      pages.login({
        ...form,
        methods: [1, 0, 3].flatMap((index) => methods[index] ?? []),
        client: plain,
        cancel: true,
      }),
    ],
    [
      'login-method',
      pages.login({
        ...form,
        methods: methods.slice(1, 2).map((method) => ({ ...method, problem: 'wrong' })),
        client: plain,
        cancel: true,
      }),
    ],
    ['login-passkey', pages.login({ ...form, ...second, methods: methods.slice(3), client: plain, cancel: true })],
    ['login-code', pages.login({ ...form, ...second, methods: [codeMethod], client: plain, cancel: true })],
    [
      'login-code-account',
      pages.login({ ...form, ...second, methods: [codeMethod], purpose: 'account', leaveUrl: '#home' }),
    ],
    [
      'login-code-wrong',
      pages.login({
        ...form,
        methods: [{ ...codeMethod, problem: 'wrong' }],
        isSecond: true,
        client: plain,
        cancel: true,
      }),
    ],
    ['login-account', pages.login({ ...onlyPassword(), ...form, purpose: 'account' })],
    ['select', pages.select({ ...form, client: full, accounts: people, otherUrl: '#other', cancel: true })],
    ['select-gone', pages.select({ ...form, client: stranger, accounts: people, otherUrl: '#other', problem: 'gone' })],
    ['consent', pages.consent({ ...form, client: plain, account, scopes: ['openid'], claims: [], resources: [] })],
    ['consent-full', pages.consent({ ...form, client: full, account, ...everything, details: [payment] })],
    ['consent-stranger', pages.consent({ ...form, client: stranger, account: { name: long }, ...everything })],
    ['device', pages.device({ ...form, account })],
    ['device-wrong', pages.device({ ...form, account, userCode: 'BCDF-GHJK', problem: 'wrong' })],
    [
      'device-confirm',
      pages.deviceConfirm({ ...device, client: stranger, place: { address: '2001:db8::ffff:1234', here: false } }),
    ],
    ...outcomes.map((outcome) => {
      const decided = outcome === 'approved' || outcome === 'denied'
      const shown = { outcome, ...(decided && { client: full }), startUrl: '#device' }
      return [`device-${outcome}`, pages.deviceResult(shown)] as const
    }),
    [
      'form-post-own',
      pages.formPost({ action: '#elsewhere', parameters: {}, isOurs: true }).replace(/<script.*<\/script>/, ''),
    ],
    ['leaving', pages.leaving({ client: stranger, url: '#elsewhere' })],
    [
      'leaving-device',
      pages.leaving({ client: { name: 'Teller', isUnchecked: true }, url: '#e', parameters: { error: 'e' } }),
    ],
    ['signed-out-stranger', pages.signedOut({ client: stranger, returnUrl: '#elsewhere' })],
    ['recovery', pages.recovery({ ...form, account: { name: long }, link: 'link' })],
    ['logout', pages.logout({ ...form, client: full, account, others: [long], parameters: {} })],
    ['signed-out', pages.signedOut({ client: plain, backUrl: 'https://teller.example/login' })],
    ['signed-out-others', pages.signedOut({ others })],
    [
      'error of a loopback issuer',
      pages.error({
        ...error,
        title: 'Authorization error',
        message: 'The redirect URI is not registered for this client.',
        error: 'invalid_redirect_uri',
        clientName: 'Teller',
        facts: {
          client_id: 'shop',
          redirect_uri: 'http://localhost:5520/callback/',
          redirect_uris: 'http://localhost:5520/callback https://shop.example/callback',
          hint: 'differs by the slash at the end',
        },
      }),
    ],
    ['error', pages.error({ ...error, message: 'The parameter claims is malformed.', error: 'invalid_request' })],
    [
      'expired',
      pages.error({
        ...error,
        message: 'This sign-in was already used. Go back to the application and start again.',
        clientName: long,
        backUrl: origin,
      }),
    ],
    [
      'form-post',
      pages.formPost({ action: '#elsewhere', parameters: { code: 'c' } }).replace(/<script.*<\/script>/, ''),
    ],
    ['recovery', pages.recovery({ ...form, account: { name: 'Alice Adams' }, link: 'link' })],
    ...sampleAccountPages(pages, { origin, full, long, everything, payment }),
  ])
}
