import { definePlugin } from '../../../core/api/index.js'
import { z } from 'zod'

/** A second factor of tests: the code 123456 after the password. */
export default definePlugin({
  name: 'code-after-password',
  apiVersion: 1,
  options: z.strictObject({}).prefault({}),
  needs: [],
  create: () => ({
    signIn: [
      {
        ...{ id: 'code', kind: 'form', amr: ['otp'], after: ['password'] },
        title: { en: 'Code by letter', de: 'Code per Brief' },
        begin: async () => ({ kind: 'form', fields: 'code' }),
        finish: async ({ passed }, { code }) =>
          passed && code === '123456'
            ? { outcome: 'passed', subject: passed.subject, amr: ['otp'] }
            : { outcome: 'refused' },
      },
    ],
  }),
})
