import { z } from 'zod'
import { text } from './fields.js'

/** Who may administer the deployment, beside those who can open its stores. */
export const operators = z
  .strictObject({
    roles: z
      .record(
        z
          .string()
          .regex(/^[a-z][a-z0-9_]{0,63}$/, 'must be a name such as release_manager: small letters, digits and _'),
        z.array(text),
      )
      .default({})
      .describe(
        'Roles beside `viewer`, `support`, `operator`, `key_custodian` and `auditor`, each with its [permissions](administration.md#permissions). `{ registrar: [clients.read, registrations.write] }`',
      ),
  })
  .prefault({})
