import type { SignerServices } from '../../core/api/index.js'

/** What the host gives to a signer, with a log that says nothing. */
export const signerServices: SignerServices = {
  clock: Date.now,
  log: { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} },
}
