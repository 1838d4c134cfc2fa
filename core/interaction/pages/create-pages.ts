import { builtIn, type Messages } from '../languages/built-in.js'
import { createChooseLanguage } from '../languages/choose-language.js'
import { createWords, type Words } from '../languages/words.js'
import type { Said } from '../../oauth/said.js'
import type { Asset } from './load-assets.js'
import { showClient, webAddress } from './client-on-page.js'
import type { ConsentPage, Pages, SpokenPages } from './pages.js'
import { describeMethods } from './login-view.js'
import { describeAccount } from './account-view.js'
import { describeDetails } from './describe-details.js'
import { deviceResults } from './device-results.js'
import { plainLook, type Look } from './look.js'
import { compileTemplates, type Render } from './templates.js'
import { tooManyText } from './wait-text.js'
import { createDescribeWishes, type ScopeTexts } from './wishes.js'

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
  /** Absent: those that come with the product. */
  readonly messages?: Messages
}

/** The built-in pages from `views/`. Text that comes from clients and people is data everywhere, never markup. */
export const createPages = (options: PagesOptions): Pages => {
  const { assetsPath, assets, messages = builtIn } = options
  const renderIn = compileTemplates({ look: options.look ?? plainLook, name: 'Signet', assetsPath, assets })
  const choose = createChooseLanguage(messages.languages)
  const spoken = new Map(
    messages.languages.map((language) => {
      const words = createWords(language, messages.texts.get(language) ?? new Map())
      return [language, createSpokenPages(words, renderIn(words), options)]
    }),
  )
  const first = spoken.get(messages.languages[0]) as SpokenPages
  return { ...first, for: (wishes) => spoken.get(choose(wishes)) ?? first }
}

const createSpokenPages = (words: Words, render: Render, { accountUrl, scopes }: PagesOptions): SpokenPages => {
  const { text } = words
  const describeWishes = createDescribeWishes(words, scopes ?? [])
  return {
    language: words.language,
    login: (page) =>
      render('login', {
        title: text('login.title'),
        action: page.action,
        csrf: page.csrf,
        sealedClient: page.sealedClient,
        client: page.client && showClient(page.client),
        clientId: page.client?.clientId,
        lead: text(`login.to_${page.purpose ?? 'device'}`),
        username: page.username ?? '',
        ...describeMethods(words, page),
        ...(page.account && showAccount(page.account)),
        leaveUrl: page.leaveUrl,
        cancel: page.cancel === true,
      }),
    select: (page) =>
      render('select', {
        title: text('select.title'),
        action: page.action,
        csrf: page.csrf,
        sealedClient: page.sealedClient,
        client: page.client && showClient(page.client),
        clientId: page.client?.clientId,
        accounts: page.accounts.map((account) => ({ ...account, initial: initialOf(account.name) })),
        otherUrl: page.otherUrl,
        problem: page.problem && text('select.gone'),
        cancel: page.cancel === true,
      }),
    consent: (page) =>
      render('consent', {
        title: text('consent.title'),
        action: page.action,
        csrf: page.csrf,
        sealedClient: page.sealedClient,
        client: showClient(page.client),
        clientId: page.client.clientId,
        ...showAccount(page.account),
        accountUrl,
        wishes: describeWishes(page.scopes, page.claims, page.resources),
        details: describeDetails(words, page.details ?? []),
      }),
    device: (page) =>
      render('device', {
        title: text('device.title'),
        action: page.action,
        csrf: page.csrf,
        ...showAccount(page.account),
        userCode: page.userCode ?? '',
        problem: problemText(words, page, 'device.wrong'),
        invalid: page.problem === 'wrong',
      }),
    deviceConfirm: (page) =>
      render('device-confirm', {
        title: text('device_confirm.title'),
        action: page.action,
        csrf: page.csrf,
        client: showClient(page.client),
        clientId: page.client.clientId,
        ...showAccount(page.account),
        userCode: page.userCode,
        place: page.place,
        wishes: describeWishes(page.scopes, [], page.resources),
      }),
    deviceResult: ({ outcome, client, startUrl }) => {
      const { mark, hasNext } = deviceResults[outcome]
      const part = (name: string) => text(`device_result.${outcome}.${name}`)
      const said = { title: part('title'), message: part('message'), next: hasNext && part('next') }
      return render('device-result', { ...said, mark, client: client?.name, clientId: client?.clientId, startUrl })
    },
    logout: (page) =>
      render('logout', {
        title: text('logout.title'),
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
        title: text('signed_out.title'),
        client: page.client && showClient(page.client),
        clientId: page.client?.clientId,
        backUrl: page.returnUrl ?? webAddress(page.backUrl),
        isReturning: page.returnUrl !== undefined,
        others: page.others,
        accountUrl,
      }),
    account: ({ account, ...page }) =>
      render('your-account', {
        ...describeAccount(page, { words, describeWishes }),
        ...showAccount(account),
      }),
    recovery: (page) =>
      render('recovery', {
        title: text('recovery.title'),
        action: page.action,
        csrf: page.csrf,
        link: page.link,
        ...showAccount(page.account),
      }),
    error: ({ status, title, message, isAdvised, facts = {}, ...page }) =>
      render('error', {
        ...page,
        title: typeof title === 'string' ? title : words.said(title),
        ...describeError(words, message),
        facts: Object.entries(facts).filter(([, value]) => value !== undefined && value !== ''),
        backUrl: webAddress(page.backUrl),
        advice: isAdvised === true ? '' : adviceOn(words, status),
      }),
    leaving: (page) =>
      render('leaving', {
        title: text('leaving.title'),
        client: showClient(page.client),
        clientId: page.client.clientId,
        url: page.url,
        parameters: page.parameters && Object.entries(page.parameters),
      }),
    formPost: (page) =>
      render('form-post', {
        title: text('form_post.title'),
        lead: text(page.isOurs ? 'form_post.again' : 'form_post.lead'),
        action: page.action,
        clientId: page.clientId,
        parameters: Object.entries(page.parameters),
      }),
  }
}

/** What only developers need is there in English alone: others see it beside a sentence of their own language. */
const describeError = (
  words: Words,
  message: string | Said,
): { readonly message: string; readonly detail?: string } => {
  if (typeof message !== 'string') return { message: words.said(message) }
  return words.language.startsWith('en') ? { message } : { message: words.text('error.general'), detail: message }
}

/** What to do, where the message of an error does not say it. */
const adviceOn = ({ text }: Words, status: number): string => {
  if (status === 404) return text('error.check_address')
  return status >= 500 ? `${text('error.try_again')} ${text('error.report')}` : text('error.report')
}

const showAccount = ({ name, otherUrl }: ConsentPage['account']) => ({
  account: name,
  initial: initialOf(name),
  otherUrl,
})

const initialOf = (name: string): string => [...name.trim()][0]?.toUpperCase() ?? ''

interface AttemptPage {
  readonly problem?: 'wrong' | 'locked'
  readonly retryAfterSeconds?: number
}

const problemText = (words: Words, page: AttemptPage, wrong: string): string | undefined => {
  if (page.problem === 'wrong') return words.text(wrong)
  if (page.problem === undefined) return undefined
  return tooManyText(words, page.retryAfterSeconds ?? 0)
}
