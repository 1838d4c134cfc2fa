import type { SignerServices } from '../../../core/api/signer.js'
import { noLog } from '../../../core/observe/log.js'

/** What the host gives to a signer, with a log that says nothing. */
export const signerServices: SignerServices = {
  clock: Date.now,
  log: noLog,
}
