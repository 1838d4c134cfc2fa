import { definePlugin } from '../../../core/api/index.js'
import { z } from 'zod'

/** A login of tests: the password alone, or the password with a code after it, as two `amr`. */
export default definePlugin({
  name: 'two-method-login',
  apiVersion: 1,
  options: z.strictObject({}).prefault({}),
  needs: ['accounts', 'passwords'],
  create: (_, { accounts, passwords }) => ({
    signIn: [
      {
        id: 'password',
        kind: 'form',
        amr: ['pwd', 'otp'],
        begin: async () => ({ kind: 'form', fields: 'password' }),
        finish: async (_attempt, { username = '', password = '' }) => {
          const [word = '', code] = password.split('#')
          const account = await accounts.findByUsername(username)
          if (!(await passwords.verify(word, account?.password_hash)) || account === undefined)
            return { outcome: 'refused' }
          return { outcome: 'passed', subject: account.sub, amr: code === '123456' ? ['pwd', 'otp'] : ['pwd'] }
        },
      },
    ],
    accounts: {
      find: async (wanted) => {
        const account = await accounts.findBySubject(wanted)
        return account && { subject: account.sub, claims: account.claims }
      },
    },
  }),
})
