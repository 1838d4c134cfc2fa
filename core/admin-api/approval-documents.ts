import { z } from 'zod'

/** The answer of a change that other operators must approve first. */
export const waitingApproval = z.object({
  approval: z.string().describe('The id of what waits, below `/approvals`.'),
  missing: z.int().describe('How many other operators must approve.'),
  expires_at: z.iso.datetime(),
  /** The secret that was generated for the change. It is in this answer only, and valid once the change is carried out. */
  client_secret: z.string().optional(),
  id: z.string().optional(),
  token: z.string().optional(),
  path: z.string().optional(),
})
