import type { AccountPage } from './account-page.js'
import { sample } from './sample.js'

const { name, client, account, asked } = sample
const seen = { browser: name, system: name }
const details = [{ title: { en: name }, lines: [{ label: { en: name }, text: name }] }]
const signOut = { url: '/account', csrf: 'sign-out' }
const password = {
  view: 'password',
  form: { url: '/account/password', csrf: 'password' },
  isFixed: false,
  username: name,
} as const

export const accountSamples: Readonly<Record<string, AccountPage>> = {
  '': {
    account,
    url: '/account',
    isPart: false,
    signOut,
    sections: [
      {
        view: 'sessions',
        form: { url: '/account/sessions', csrf: 'sessions' },
        sessions: ['a', 'b'].map((sid) => ({ sid, here: sid === 'a', since: 1_790_000_000, seen })),
      },
      {
        view: 'applications',
        form: { url: '/account/applications', csrf: 'applications' },
        applications: [
          {
            ...asked,
            ...{ clientId: 'sample', client, details, moreDetails: 1, since: 1_790_000_000, returns: true },
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
  },
  password: { account, url: '/account', isPart: true, signOut, sections: [password] },
  recovery: {
    account: { name },
    url: '/account',
    isPart: true,
    signOut: { url: '/recovery/end', csrf: 'recovery-end' },
    recovery: { expiresAt: 1_790_000_900 },
    sections: [{ ...password, isReset: true, problem: { kind: 'unacceptable', fault: name } }],
  },
}
