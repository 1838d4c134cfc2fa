import type { Said } from '../../oauth/said.js'
import type { Translator } from '../languages/translator.js'
import { webAddress } from './client-on-page.js'
import { definePage } from './page.js'
import { sample } from './sample.js'

export interface ErrorPage {
  readonly status: number
  /** The message says what to do, and the page gives no further advice. */
  readonly isAdvised?: boolean
  /** The heading. A string is English, for developers, as the message may be. */
  readonly title: string | Said
  readonly message: string | Said
  readonly requestId: string
  /** The client that sent the person. Untrusted. */
  readonly clientName?: string | undefined
  /** The client whose look the page has. */
  readonly clientId?: string | undefined
  /** Where the client begins. */
  readonly backUrl?: string | undefined
  /** Where the person can sign out. */
  readonly signOutUrl?: string | undefined
  /** What helps a developer, by the names of parameters and metadata; `hint` is English. Untrusted. */
  readonly facts?: Readonly<Record<string, string | undefined>> | undefined
  /** The error code, for developers. */
  readonly error?: string
}

/** What only developers need is there in English alone: others see it beside a sentence of their own language. */
const describeError = (
  translator: Translator,
  message: string | Said,
): { readonly message: string; readonly detail?: string } => {
  if (typeof message !== 'string') return { message: translator.said(message) }
  return translator.language.startsWith('en')
    ? { message }
    : { message: translator.text('error.general'), detail: message }
}

/** What to do, where the message of an error does not say it. */
const adviceOn = ({ text }: Translator, status: number): string => {
  if (status === 404) return text('error.check_address')
  return status >= 500 ? `${text('error.try_again')} ${text('error.report')}` : text('error.report')
}

export const errorPage = definePage<ErrorPage>({
  view: 'error',
  describe: ({ status, title, message, isAdvised, facts = {}, ...page }, { translator }) => ({
    ...page,
    title: typeof title === 'string' ? title : translator.said(title),
    ...describeError(translator, message),
    facts: Object.entries(facts).filter(([, value]) => value !== undefined && value !== ''),
    backUrl: webAddress(page.backUrl),
    advice: isAdvised === true ? '' : adviceOn(translator, status),
  }),
  samples: {
    '': {
      ...{ status: 400, title: 'Sample error', message: 'A message.', requestId: 'request-id', error: 'access_denied' },
      ...{ clientName: sample.name, backUrl: 'https://client.example/', signOutUrl: '/logout' },
    },
  },
})
