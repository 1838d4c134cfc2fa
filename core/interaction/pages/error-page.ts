import type { ShownError } from '../../oauth/errors.js'
import type { Said } from '../../oauth/said.js'
import type { Translator } from '../languages/translator.js'
import { webAddress } from './client-on-page.js'
import { definePage } from './page.js'
import { sample } from './sample.js'

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

export const errorPage = definePage<ShownError>({
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
      ...{ status: 400, title: 'Sample error', message: sample.name, requestId: 'request-id' },
      ...{
        clientName: sample.name,
        backUrl: 'https://client.example/',
        signOutUrl: '/logout',
        facts: { client_id: sample.name },
      },
    },
  },
})
