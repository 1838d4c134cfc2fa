import type { Said } from '../../oauth/said.js'
import type { Translator } from '../languages/translator.js'
import { webAddress } from './client-on-page.js'
import { definePage } from './page.js'
import { sample } from './sample.js'

export interface ErrorPage {
  readonly status: number
  /** The message already says what to do, so the page gives no further advice. */
  readonly isAdvised?: boolean
  /** The heading. A string is English text for developers, and so is a message that is a string. */
  readonly title: string | Said
  readonly message: string | Said
  readonly requestId: string
  /** The client that sent the person. It is untrusted. */
  readonly clientName?: string | undefined
  /** The client whose theme the page uses. */
  readonly clientId?: string | undefined
  /** The URL where the client starts. */
  readonly backUrl?: string | undefined
  /** The URL where the person can sign out. */
  readonly signOutUrl?: string | undefined
  /**
   * Facts that help a developer, by the names of parameters and metadata. `hint` is English. All of it is untrusted.
   */
  readonly facts?: Readonly<Record<string, string | undefined>> | undefined
  /** The error code, for developers. */
  readonly error?: string
}

/** What only developers need exists only in English. Other people see it next to a sentence in their own language. */
const describeError = (
  translator: Translator,
  message: string | Said,
): { readonly message: string; readonly detail?: string } => {
  if (typeof message !== 'string') return { message: translator.said(message) }
  return translator.language.startsWith('en')
    ? { message }
    : { message: translator.text('error.general'), detail: message }
}

/** Returns advice for an error whose message does not say what to do. */
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
