import type { Translator } from '../languages/translator.js'
import { definePage, showAccount, showForm, type AccountOnPage, type FormPage } from './page.js'
import { sample } from './sample.js'
import { tooManyText } from './wait-text.js'

/**
 * The page for typing the code of a device (RFC 8628 §3.3). The form sends `csrf` and `user_code`; its button is
 * `#device-continue`.
 */
export interface DevicePage extends FormPage {
  readonly account: AccountOnPage
  /** The value of the field `user_code`: what was typed, or what the URL contained. It is untrusted. */
  readonly userCode?: string
  readonly problem?: 'wrong' | 'locked'
  /** With `locked`, the time until the next attempt is accepted. */
  readonly retryAfterSeconds?: number
}

const problemText = (translator: Translator, { problem, retryAfterSeconds = 0 }: DevicePage): string | undefined => {
  if (problem === 'wrong') return translator.text('device.wrong')
  return problem && tooManyText(translator, retryAfterSeconds)
}

export const devicePage = definePage<DevicePage>({
  view: 'device',
  describe: (page, { translator }) => ({
    title: translator.text('device.title'),
    ...showForm(page),
    ...showAccount(page.account),
    userCode: page.userCode ?? '',
    problem: problemText(translator, page),
    invalid: page.problem === 'wrong',
  }),
  samples: { '': { ...sample.form, account: sample.account, userCode: sample.name, problem: 'wrong' } },
})
