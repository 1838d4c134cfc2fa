import { VerificationError } from '../../../libraries/verify/index.js'

/** Why a verifier refused, or `accepted`. Throws what is no refusal. */
export const reasonOf = async (checked: Promise<unknown>): Promise<string> => {
  try {
    await checked
    return 'accepted'
  } catch (error) {
    if (!(error instanceof VerificationError)) throw error
    return error.reason
  }
}
