import { createPrivateKey, createPublicKey, sign } from 'node:crypto'
import { access, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { algorithms, checkPublicJwk, defineSigner, keyInput, KeyRefused, Unavailable } from 'signet-idp/signer'
import { z } from 'zod'

const signOnThreadPool = promisify(sign)

const options = z.strictObject({ directory: z.string(), passphrase: z.string() })

export default defineSigner({
  name: 'encrypted-files',
  apiVersion: 1,
  inProcess: true,
  options,
  create: ({ directory, passphrase }) => ({
    async open(ref, alg, signal) {
      signal.throwIfAborted()
      if (!/^[\w-]{1,64}$/.test(ref)) throw new KeyRefused('ref must be a file name without its ending')
      const pem = await readFile(join(directory, `${ref}.pem`)).catch((cause) => {
        throw new KeyRefused(`${ref} cannot be read`, { cause })
      })
      try {
        const privateKey = createPrivateKey({ key: pem, passphrase })
        const { jwk } = checkPublicJwk(createPublicKey(privateKey).export({ format: 'jwk' }), [alg])
        return newSigner(alg, jwk, keyInput(alg, privateKey))
      } catch {
        // What OpenSSL says of a private key is nobody else's business.
        throw new KeyRefused(`${ref} is not a key for ${alg}, or the passphrase is wrong`)
      }
    },
    async ping() {
      await access(directory).catch((cause) => {
        throw new Unavailable('signers.encrypted-files', 'no', 'The key directory cannot be used.', { cause })
      })
    },
    async [Symbol.asyncDispose]() {},
  }),
})

/**
 * The private key lives in this closure alone.
 * @param {import('signet-idp/signer').JwsAlg} alg
 * @param {import('signet-idp/signer').PublicJwk} publicJwk
 * @param {ReturnType<typeof keyInput>} key
 * @returns {import('signet-idp/signer').Signer}
 */
const newSigner = (alg, publicJwk, key) => ({
  alg,
  publicJwk,
  async sign(message, signal) {
    signal.throwIfAborted()
    const signature = await signOnThreadPool(algorithms[alg].digest, message, key)
    signal.throwIfAborted()
    return signature
  },
})
