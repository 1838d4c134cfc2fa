import { z } from 'zod'
import { definePlugin, Unavailable } from '../../../core/api/index.js'

const detail = z.strictObject({
  type: z.literal('account_access'),
  accounts: z.array(z.string()),
  locations: z.array(z.string()).optional(),
})

/** A type of `authorization_details` of tests: accounts, of which a client may have fewer, and at most `metadata.most`. */
export default definePlugin({
  name: 'account-access',
  apiVersion: 1,
  create: () => ({
    authorizationDetails: [
      {
        type: 'account_access',
        check: async (asked, client) => {
          const { data } = detail.safeParse(asked)
          if (data === undefined) return 'no list of accounts'
          if (data.accounts.includes('down')) throw new Unavailable('accounts', 'no', 'The accounts are down')
          if (data.accounts.includes('bug')) throw new TypeError('a bug')
          await Promise.resolve()
          return data.accounts.length > Number(client.metadata['most']) ? 'too many accounts' : undefined
        },
        describe: (granted) => ({
          title: { en: 'See accounts' },
          lines: detail.parse(granted).accounts.map((one) => ({ label: { en: 'Account' }, text: `No. ${one}` })),
        }),
        narrows: (asked, granted) => {
          const [some, all] = [asked, granted].map((one) => detail.safeParse(one).data?.accounts)
          return some?.every((one) => all?.includes(one)) === true
        },
      },
    ],
  }),
})
