import type { Words } from '../languages/words.js'
import { definePage, showAccount, type AccountOnPage, type FormPage } from './page.js'
import { sample } from './sample.js'
import { tooManyText } from './wait-text.js'

/** Where the code of a device is typed (RFC 8628 §3.3). Fields `csrf`, `user_code`; button `#device-continue`. */
export interface DevicePage extends FormPage {
  readonly account: AccountOnPage
  /** What to write into the field `user_code`: what was typed, or came with the address. Untrusted. */
  readonly userCode?: string
  readonly problem?: 'wrong' | 'locked'
  /** With `locked`: how long until the next attempt counts. */
  readonly retryAfterSeconds?: number
}

const problemText = (words: Words, { problem, retryAfterSeconds = 0 }: DevicePage): string | undefined => {
  if (problem === 'wrong') return words.text('device.wrong')
  return problem && tooManyText(words, retryAfterSeconds)
}

export const devicePage = definePage<DevicePage>({
  view: 'device',
  describe: (page, { words }) => ({
    title: words.text('device.title'),
    action: page.action,
    csrf: page.csrf,
    ...showAccount(page.account),
    userCode: page.userCode ?? '',
    problem: problemText(words, page),
    invalid: page.problem === 'wrong',
  }),
  samples: { '': { ...sample.form, account: sample.account, userCode: sample.name, problem: 'wrong' } },
})
