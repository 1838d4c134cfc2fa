import { generateKeyPairSync, sign } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import { defineSigner, KeyRefused, Unavailable, type PublicJwk, type Signer } from '../../../core/api/signer.js'

/**
 * A double of a signer, not one to use: its key lives in memory, and what it does is the word in the file `control`:
 * `sign`, `unavailable`, `throw`, `refuse`, or `hang` until its signal aborts.
 */
export default defineSigner({
  name: 'failing-signer (a double)',
  apiVersion: 1,
  options: z.strictObject({ control: z.string() }),
  create: ({ control }) => {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const { kty, crv, x, y } = publicKey.export({ format: 'jwk' })
    const signer: Signer = {
      alg: 'ES256',
      publicJwk: { kty, crv, x, y } as PublicJwk,
      async sign(message, signal) {
        const word = (await readFile(control, 'utf8')).trim()
        if (word === 'unavailable') throw new Unavailable('signers.double', 'no', 'ThrottlingException')
        if (word === 'throw') throw new TypeError('socket hang up')
        if (word === 'refuse') throw new KeyRefused('the key is disabled')
        if (word === 'hang')
          await new Promise((_, reject) => {
            // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- the port asks for the reason
            signal.addEventListener('abort', () => reject(signal.reason), { once: true })
          })
        return sign('sha256', message, { key: privateKey, dsaEncoding: 'ieee-p1363' })
      },
    }
    return {
      open: () => Promise.resolve(signer),
      ping: () => Promise.resolve(),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    }
  },
})
