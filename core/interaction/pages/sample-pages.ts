import { deviceResults } from './device-results.js'
import type { DeviceResultPage, MethodOnPage, SpokenPages } from './pages.js'

/** Stands in every text that comes from people and clients; a page that has it as it is does not escape its values. */
export const unescaped = '<signet-sample>'

const name = `Sample ${unescaped} "name" & 'more'`
const client = {
  clientId: 'sample',
  name,
  logoUri: 'https://client.example/logo.png',
  clientUri: 'https://client.example/',
  policyUri: 'https://client.example/policy',
  tosUri: 'https://client.example/terms',
}
const account = { name, otherUrl: '/other' }
const form = { action: '/form', csrf: 'csrf-of-the-sample' }
const ofClient = { ...form, sealedClient: 'sealed-client', client }
const asked = { scopes: ['openid', 'sample:scope'], resources: ['https://api.example/'] }
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
const place = { address: '192.0.2.1', here: false }

/** Every page, by a name for messages, in the states that have all of its forms. */
export const samplePages: ReadonlyMap<string, (pages: SpokenPages) => string> = new Map([
  ['login', (pages) => pages.login({ ...ofClient, methods, username: name, cancel: true })],
  ['login (own page)', (pages) => pages.login({ ...form, methods: methods.slice(0, 1), purpose: 'account' })],
  ['login (method elsewhere)', (pages) => pages.login({ ...ofClient, methods: methods.slice(1), cancel: true })],
  ['login (second factor)', (pages) => pages.login({ ...ofClient, methods: [code], isSecond: true, cancel: true })],
  [
    'select',
    (pages) =>
      pages.select({
        ...ofClient,
        accounts: ['a', 'b'].map((id) => ({ id, name, secondName: name, isHinted: false })),
        otherUrl: '/other',
        problem: 'gone',
        cancel: true,
      }),
  ],
  ['consent', (pages) => pages.consent({ ...ofClient, ...asked, account, claims: ['birthdate', 'sample'] })],
  ['device', (pages) => pages.device({ ...form, account, userCode: name, problem: 'wrong' })],
  [
    'device-confirm',
    (pages) => pages.deviceConfirm({ ...form, ...asked, client, account, userCode: 'BCDF-GHJK', place }),
  ],
  ...(Object.keys(deviceResults) as DeviceResultPage['outcome'][]).map(
    (outcome) =>
      [
        `device-result (${outcome})`,
        (pages: SpokenPages) => pages.deviceResult({ outcome, client, startUrl: '/device' }),
      ] as const,
  ),
  [
    'logout',
    (pages) => pages.logout({ ...form, client, account, others: [name], parameters: { state: 'state-of-the-sample' } }),
  ],
  [
    'signed-out',
    (pages) => pages.signedOut({ client, backUrl: 'https://client.example/', others: { ...form, names: [name] } }),
  ],
  [
    'your-account',
    (pages) =>
      pages.account({
        account,
        url: '/account',
        isPart: false,
        signOut: { url: '/account', csrf: 'sign-out' },
        sections: [
          {
            view: 'sessions',
            form: { url: '/account/sessions', csrf: 'sessions' },
            sessions: ['a', 'b'].map((sid) => ({ sid, here: sid === 'a', since: 1_790_000_000, seen: {} })),
          },
          {
            view: 'applications',
            form: { url: '/account/applications', csrf: 'applications' },
            applications: [
              {
                ...asked,
                ...{ clientId: 'sample', client, claims: [], details: [], moreDetails: 0 },
                ...{ since: 1_790_000_000, returns: true },
              },
            ],
          },
          {
            view: 'approvals',
            form: { url: '/account/approvals', csrf: 'approvals' },
            approvals: [
              {
                ...{ id: 'a', client, scopes: asked.scopes, resources: asked.resources, details: [], moreDetails: 0 },
                ...{ message: name, since: 1_790_000_000, expiresAt: 1_790_000_300 },
              },
            ],
          },
          {
            view: 'devices',
            form: { url: '/account/devices', csrf: 'devices' },
            attestationTtlSeconds: 86_400,
            devices: [{ id: 'a', name, type: 'device', since: 1_790_000_000 }],
          },
          {
            view: 'passkeys',
            form: { url: '/account/passkeys', csrf: 'passkeys' },
            passkeys: [{ id: 'a', name, since: 1_790_000_000, isSynced: true }],
            setup: { options: {}, challenge: 'sample' },
          },
          {
            view: 'totp',
            form: { url: '/account/totp', csrf: 'totp' },
            setup: { secret: 'SAMPLE', uri: 'otpauth://totp/sample', setup: 'sample' },
            codes: ['abcd-efgh-jkmn-pqrs'],
          },
        ],
      }),
  ],
  [
    'account-password',
    (pages) =>
      pages.account({
        account,
        url: '/account',
        isPart: true,
        signOut: { url: '/account', csrf: 'sign-out' },
        sections: [{ view: 'password', form: { url: '/account/password', csrf: 'password' }, isFixed: false }],
      }),
  ],
  [
    'your-account (recovery)',
    (pages) =>
      pages.account({
        account: { name },
        url: '/account',
        isPart: true,
        signOut: { url: '/recovery/end', csrf: 'recovery-end' },
        recovery: { expiresAt: 1_790_000_900 },
        sections: [
          { view: 'password', form: { url: '/account/password', csrf: 'password' }, isFixed: false, isReset: true },
        ],
      }),
  ],
  ['recovery', (pages) => pages.recovery({ ...form, account: { name }, link: 'link-of-the-sample' })],
  [
    'error',
    (pages) =>
      pages.error({
        ...{
          status: 400,
          title: 'Sample error',
          message: 'A message.',
          requestId: 'request-id',
          error: 'access_denied',
        },
        ...{ clientName: name, backUrl: 'https://client.example/', signOutUrl: '/logout' },
      }),
  ],
  [
    'leaving',
    (pages) =>
      pages.leaving({
        client: { ...client, isUnchecked: true, returnsTo: 'client.example' },
        url: 'https://client.example/cb',
        parameters: { state: name },
      }),
  ],
  [
    'form-post',
    (pages) => pages.formPost({ action: 'https://client.example/cb', parameters: { code: 'c', state: name } }),
  ],
])
