import { isJwsAlg } from '../../../../core/jose/algorithms.js'
import type { JwsAlg } from '../../../../core/jose/jwk.js'
import type { SignerBackend } from '../signer-contract.js'
import { openProvider } from './token.js'

const { SIGNET_PKCS11_MODULE, SIGNET_PKCS11_TOKEN, SIGNET_PKCS11_PIN, SIGNET_PKCS11_KEYS } = process.env

/** `ES256=pkcs11:object=a RS256=pkcs11:object=b` */
const keys = new Map<JwsAlg, string>()
for (const entry of (SIGNET_PKCS11_KEYS ?? '').split(/\s+/).filter(Boolean)) {
  const [alg, ...ref] = entry.split('=')
  if (!isJwsAlg(alg)) throw new Error(`SIGNET_PKCS11_KEYS: ${entry} does not begin with an algorithm and =`)
  keys.set(alg, ref.join('='))
}

export const realAlgorithms: readonly JwsAlg[] = [...keys.keys()]

export const realBackend = async (): Promise<SignerBackend> => {
  // A vendor's library is configured by variables that only its vendor knows.
  const ours = /^SIGNET_|[^A-Za-z0-9_]/
  const environment: Record<string, string> = {}
  for (const [name, value] of Object.entries(process.env)) if (!ours.test(name)) environment[name] = value ?? ''
  const token = { module: SIGNET_PKCS11_MODULE ?? '', label: SIGNET_PKCS11_TOKEN ?? '', pin: SIGNET_PKCS11_PIN ?? '' }
  const provider = await openProvider({ ...token, environment })
  return {
    provider,
    ref: (alg) => Promise.resolve(keys.get(alg) ?? ''),
    [Symbol.asyncDispose]: () => provider[Symbol.asyncDispose](),
  }
}
