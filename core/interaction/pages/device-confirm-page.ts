import type { ClientOnPage } from './client-on-page.js'
import { definePage, showAccount, showClientOf, showForm, type AccountOnPage, type FormPage } from './page.js'
import { sample } from './sample.js'

/**
 * What a device asks for. The form sends `csrf`, `user_code`, and `decision`: button `#device-approve` sends
 * `approve`, `#device-deny` sends `deny`.
 */
export interface DeviceConfirmPage extends FormPage {
  readonly client: ClientOnPage
  readonly account: AccountOnPage
  /** The code as the device shows it: `BCDF-GHJK`. */
  readonly userCode: string
  readonly scopes: readonly string[]
  readonly resources: readonly string[]
  /** Where the device was when it asked. `here` means that it has the same address as the person's browser. */
  readonly place: { readonly address: string; readonly here: boolean }
}

export const deviceConfirmPage = definePage<DeviceConfirmPage>({
  view: 'device-confirm',
  describe: (page, { translator, describePermissions }) => ({
    title: translator.text('device_confirm.title'),
    ...showForm(page),
    ...showClientOf(page),
    ...showAccount(page.account),
    userCode: page.userCode,
    place: page.place,
    wishes: describePermissions(page.scopes, [], page.resources),
  }),
  samples: {
    '': {
      ...sample.form,
      scopes: sample.asked.scopes,
      resources: sample.asked.resources,
      client: sample.client,
      account: sample.account,
      userCode: sample.name,
      place: { address: sample.name, here: false },
    },
  },
})
