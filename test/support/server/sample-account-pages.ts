import type { DescribedDetail } from '../../../core/oauth/requests/authorization-details.js'
import type { AccountPage, PasswordProblem } from '../../../core/interaction/pages/account-page.js'
import type { ClientOnPage } from '../../../core/interaction/pages/client-on-page.js'
import type { SpokenPages } from '../../../core/interaction/pages/pages.js'
import { said } from '../../../core/oauth/said.js'
import { accountPage } from '../../../core/interaction/pages/account-view.js'

const passwordProblems: readonly (PasswordProblem | undefined)[] = [
  undefined,
  { kind: 'wrong' },
  { kind: 'locked', retryAfterSeconds: 60 },
  { kind: 'unacceptable', fault: { said: said('password_short'), text: 'must have at least 8 characters' } },
  { kind: 'unacceptable', fault: 'must not be one of your last five' },
]

interface Material {
  readonly origin: string
  /** A client that has said all about itself. */
  readonly full: ClientOnPage
  /** A word that is longer than a line. */
  readonly long: string
  readonly everything: Readonly<Record<'scopes' | 'claims' | 'resources', readonly string[]>>
  readonly payment: DescribedDetail
}

/** The page of a person's own account, and its parts, by a name for a picture. */
export const sampleAccountPages = (
  pages: SpokenPages,
  { origin, full, long, everything, payment }: Material,
): readonly (readonly [string, string])[] => {
  const account = { name: 'Alice Adams', otherUrl: '#other' }
  const accountForm = { url: `${origin}/account`, csrf: 'token' }
  const since = 1_790_000_000
  const session = { seen: { browser: 'Firefox', system: 'Windows' }, since }
  const application = { ...everything, clientId: 'teller', details: [payment], moreDetails: 2, since }
  const request = { ...everything, id: 'a', details: [], moreDetails: 0, since, expiresAt: since + 300 }
  const part = (...sections: AccountPage['sections']): string =>
    pages.show(accountPage, { account, url: `${origin}/account`, isPart: true, signOut: accountForm, sections })
  const passkeys = { view: 'passkeys', form: accountForm } as const
  const totp = { view: 'totp', form: accountForm } as const
  const passkey = { id: 'a', name: 'Jürgens Telefon', since, lastUsedAt: since + 100_000, isSynced: true }
  const setup = { options: { challenge: 'AAAA' }, challenge: 'AAAA' }
  const recovering = (...sections: AccountPage['sections']): string =>
    pages.show(accountPage, {
      ...{ account: { name: long }, url: `${origin}/account`, isPart: true, signOut: accountForm, sections },
      recovery: { expiresAt: since + 900 },
    })
  return [
    [
      'account-recovery',
      recovering({ view: 'password', form: accountForm, isFixed: false, isReset: true, username: long }),
    ],
    ['account-recovery-nothing', recovering()],
    [
      'account',
      pages.show(accountPage, {
        account,
        url: `${origin}/account`,
        isPart: false,
        signOut: accountForm,
        notice: 'session_ended',
        sections: [
          {
            view: 'sessions',
            form: accountForm,
            next: '#next',
            sessions: [
              { ...session, sid: 'a', here: true },
              { ...session, sid: 'b', seen: {}, here: false },
            ],
          },
          {
            view: 'applications',
            form: accountForm,
            applications: [
              { ...application, client: full, returns: false },
              { ...application, clientId: 'other', client: { name: long }, details: [], moreDetails: 0, returns: true },
            ],
          },
          {
            view: 'approvals',
            form: accountForm,
            approvals: [
              { ...request, client: full, details: [payment], message: 'W4SCT' },
              { ...request, id: 'b', client: { name: long }, moreDetails: 2 },
            ],
          },
          {
            view: 'devices',
            form: accountForm,
            attestationTtlSeconds: 86_400,
            devices: [
              { id: 'a', name: 'Jürgens Gerät', type: 'device', since: 1_790_000_000, renewedAt: 1_790_100_000 },
              { id: 'b', name: long, type: 'service', since: 1_790_000_000, revokedAt: 1_790_100_000 },
            ],
          },
          { view: 'password', form: accountForm, isFixed: false },
        ],
      }),
    ],
    ...passwordProblems.map(
      (problem) =>
        [
          `account-password-${problem?.kind ?? 'form'}`,
          pages.show(accountPage, {
            account,
            url: `${origin}/account`,
            isPart: true,
            signOut: accountForm,
            sections: [
              { view: 'password', form: accountForm, isFixed: false, username: long, ...(problem && { problem }) },
            ],
          }),
        ] as const,
    ),
    [
      'account-recovery',
      pages.show(accountPage, {
        account: { name: 'Alice Adams' },
        url: `${origin}/account`,
        isPart: true,
        signOut: accountForm,
        recovery: { expiresAt: since },
        sections: [{ view: 'password', form: accountForm, isFixed: false, isReset: true, username: 'alice' }],
      }),
    ],
    [
      'account-empty',
      pages.show(accountPage, {
        account: { name: long },
        url: `${origin}/account`,
        isPart: true,
        signOut: accountForm,
        sections: [
          { view: 'sessions', form: accountForm, sessions: [{ ...session, sid: 'a', here: true }] },
          { view: 'applications', form: accountForm, applications: [] },
          { view: 'approvals', form: accountForm, approvals: [] },
          { view: 'devices', form: accountForm, attestationTtlSeconds: 60, devices: [] },
          { view: 'password', form: accountForm, isFixed: true },
        ],
      }),
    ],
    [
      'account-passkeys',
      part({ ...passkeys, setup, passkeys: [passkey, { id: 'b', name: long, since, isSynced: false }] }),
    ],
    ['account-passkeys-first', part({ ...passkeys, setup, passkeys: [], problem: 'refused' })],
    [
      'account-password-changed',
      pages.show(accountPage, {
        ...{ account, url: `${origin}/account`, isPart: false, signOut: accountForm },
        ...{ notice: 'password_changed', now: since + 600 },
        sections: [
          { view: 'approvals', form: accountForm, approvals: [{ ...request, client: full, message: 'W4SCT' }] },
          { view: 'password', form: accountForm, isFixed: false },
          { ...passkeys, passkeys: [passkey] },
        ],
      }),
    ],
    ['account-passkeys-full', part({ ...passkeys, passkeys: [passkey] })],
    [
      'account-totp',
      part({
        ...totp,
        setup: { secret: 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP', uri: 'otpauth://totp/sample', setup: 'sample' },
        problem: 'wrong',
      }),
    ],
    [
      'account-totp-codes',
      part({ ...totp, app: { since, left: 10 }, codes: Array.from({ length: 10 }, () => 'abcd-efgh-jkmn-pqrs') }),
    ],
  ]
}
