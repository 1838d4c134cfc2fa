import type { Asset } from './load-assets.js'
import { showClient, webAddress } from './client-on-page.js'
import type { ConsentPage, LoginPage, Pages } from './pages.js'
import { describeAccount } from './account-view.js'
import { deviceResults } from './device-results.js'
import { plainLook, type Look } from './look.js'
import { compileTemplates } from './templates.js'
import { tooManyText } from './wait-text.js'
import { createDescribeWishes, textOf, type ScopeTexts } from './wishes.js'

export interface PagesOptions {
  /** Default: that of Signet. */
  readonly look?: Look
  /** Path of the assets, without a trailing slash: `/assets`, `/op/assets`. */
  readonly assetsPath: string
  readonly assets: ReadonlyMap<string, Asset>
  /** The person's own page; absent: there is none. */
  readonly accountUrl?: string
  /** Scopes with texts of the operator's. */
  readonly scopes?: readonly ScopeTexts[]
}

/** The built-in pages from `views/`. Text that comes from clients and people is data everywhere, never markup. */
export const createPages = (options: PagesOptions): Pages => {
  const { assetsPath, assets, accountUrl } = options
  const describeWishes = createDescribeWishes(options.scopes ?? [])
  const render = compileTemplates({ look: options.look ?? plainLook, name: 'Signet', assetsPath, assets })
  return {
    login: (page) =>
      render('login', {
        title: 'Sign in',
        action: page.action,
        csrf: page.csrf,
        sealedClient: page.sealedClient,
        client: page.client && showClient(page.client),
        clientId: page.client?.clientId,
        lead: loginLeads[page.purpose ?? 'device'],
        username: page.username ?? '',
        problem: problemText(page, 'Incorrect username or password.'),
        cancel: page.cancel === true,
      }),
    select: (page) =>
      render('select', {
        title: 'Choose an account',
        action: page.action,
        csrf: page.csrf,
        sealedClient: page.sealedClient,
        client: page.client && showClient(page.client),
        clientId: page.client?.clientId,
        accounts: page.accounts.map((account) => ({ ...account, initial: initialOf(account.name) })),
        otherUrl: page.otherUrl,
        problem: page.problem && 'This account is no longer signed in. Choose another one, or sign in again.',
        cancel: page.cancel === true,
      }),
    consent: (page) =>
      render('consent', {
        title: 'Allow access',
        action: page.action,
        csrf: page.csrf,
        sealedClient: page.sealedClient,
        client: showClient(page.client),
        clientId: page.client.clientId,
        ...showAccount(page.account),
        accountUrl,
        wishes: describeWishes(page.scopes, page.claims, page.resources),
        details: (page.details ?? []).map(({ title, lines }) => ({
          title: textOf(title),
          lines: lines.map(({ label, text }) => ({ label: textOf(label), text })),
        })),
      }),
    device: (page) =>
      render('device', {
        title: 'Connect a device',
        action: page.action,
        csrf: page.csrf,
        ...showAccount(page.account),
        userCode: page.userCode ?? '',
        problem: problemText(page, 'We don’t recognise this code. Check it against your device and try again.'),
        invalid: page.problem === 'wrong',
      }),
    deviceConfirm: (page) =>
      render('device-confirm', {
        title: 'Allow this device',
        action: page.action,
        csrf: page.csrf,
        client: showClient(page.client),
        clientId: page.client.clientId,
        ...showAccount(page.account),
        userCode: page.userCode,
        place: page.place,
        wishes: describeWishes(page.scopes, [], page.resources),
      }),
    deviceResult: (page) =>
      render('device-result', {
        ...deviceResults[page.outcome],
        client: page.client?.name,
        clientId: page.client?.clientId,
        startUrl: page.startUrl,
      }),
    logout: (page) =>
      render('logout', {
        title: 'Sign out',
        action: page.action,
        csrf: page.csrf,
        client: page.client && showClient(page.client),
        clientId: page.client?.clientId,
        ...showAccount(page.account),
        others: page.others,
        parameters: Object.entries(page.parameters),
      }),
    signedOut: (page) =>
      render('signed-out', {
        title: 'Signed out',
        client: page.client && showClient(page.client),
        clientId: page.client?.clientId,
        backUrl: webAddress(page.backUrl),
        others: page.others,
        accountUrl,
      }),
    account: ({ account, ...page }) =>
      render('your-account', { ...describeAccount(page, describeWishes), ...showAccount(account) }),
    error: ({ status, ...page }) =>
      render('error', { ...page, backUrl: webAddress(page.backUrl), advice: adviceOn(status) }),
    formPost: (page) =>
      render('form-post', { title: 'Continue', action: page.action, parameters: Object.entries(page.parameters) }),
  }
}

/** Under the heading of the login page, where no client waits. */
const loginLeads = {
  device: 'to connect a device',
  account: 'to see your account',
  confirmation: 'once more, to confirm that it is you',
}

/** What to do, where the message of an error does not say it. */
const adviceOn = (status: number): string => {
  if (status === 404) return 'Check the address.'
  const report = 'If you keep seeing this page, give the request ID to the support team of the application.'
  return status >= 500 ? `Try again in a moment. ${report}` : report
}

const showAccount = ({ name, otherUrl }: ConsentPage['account']) => ({
  account: name,
  initial: initialOf(name),
  otherUrl,
})

const initialOf = (name: string): string => [...name.trim()][0]?.toUpperCase() ?? ''

interface AttemptPage {
  readonly problem?: NonNullable<LoginPage['problem']>
  readonly retryAfterSeconds?: number
}

const problemText = (page: AttemptPage, wrong: string): string | undefined => {
  if (page.problem === 'wrong') return wrong
  if (page.problem === 'again') return 'The account changed while you signed in. Sign in again.'
  if (page.problem === undefined) return undefined
  return tooManyText(page.retryAfterSeconds ?? 0)
}
