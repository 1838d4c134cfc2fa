import { createPublicKey, randomBytes, verify, type KeyObject } from 'node:crypto'
import { resolve } from 'node:path'
import { z } from 'zod'
import {
  algorithms,
  BadJwk,
  checkPublicJwk,
  defineSigner,
  keyInput,
  KeyRefused,
  Unavailable,
  keyTypes,
  type GuardedKey,
  type JwsAlg,
  type Signer,
  type SignerProvider,
} from '../../core/api/signer.js'
import {
  checkDirectory,
  isMissing,
  checkRef,
  listKeyFiles,
  makeKeyFile,
  readKeyFile,
  removeKeyFile,
  removeNameless,
} from './key-file.js'
import { loopQueue, poolQueue, type SignatureQueue } from './signature-queue.js'

const options = z.strictObject({
  /** The directory of the PKCS#8 files, relative to the working directory. */
  directory: z.string().min(1),
  /** Whether to create the file of a configured key that has none yet. */
  create: z.boolean().default(false),
  /** Seconds between two probes of a key. Default: 30. */
  probe_secs: z.int().min(5).max(3600).optional(),
})

/** Leaves 3 ms of the 5 ms that a turn of the event loop may last to the answers. */
const turnMs = 2
/** One of the pool's four threads stays free for files and password hashes. */
const poolWidth = 3

/** Checks the public half with the same guard as keys from outside. */
const checkFit = (ref: string, alg: JwsAlg, privateKey: KeyObject): GuardedKey => {
  try {
    return checkPublicJwk(createPublicKey(privateKey).export({ format: 'jwk' }), [alg])
  } catch (error) {
    const why = error instanceof BadJwk ? error.message : 'The type of key is not accepted.'
    throw new KeyRefused(`${ref} cannot sign ${alg}, which needs a key of type ${algorithms[alg].keyType}. ${why}`)
  }
}

/** The private key is held in this closure only: no member of the signer leads to it. */
const openSigner = async (
  ref: string,
  alg: JwsAlg,
  privateKey: KeyObject,
  queue: SignatureQueue,
  signal: AbortSignal,
): Promise<Signer> => {
  const { jwk, publicKey } = checkFit(ref, alg, privateKey)
  const { digest } = algorithms[alg]
  const input = keyInput(alg, privateKey)
  const signer: Signer = Object.freeze({
    alg,
    publicJwk: jwk,
    sign: (message: Uint8Array, signal: AbortSignal) => queue.sign(digest, input, message, signal),
  })
  // A file may hold halves of two different keys.
  const probe = randomBytes(32)
  if (!verify(digest, probe, keyInput(alg, publicKey), await signer.sign(probe, signal)))
    throw new KeyRefused(`${ref} is damaged: its signatures fail verification`)
  return signer
}

/** Keys in PKCS#8 files (mode 0600) in one directory (mode 0700), readable by no other user. */
export default defineSigner<z.infer<typeof options>>({
  name: 'local',
  apiVersion: 1,
  inProcess: true,
  options,
  create({ directory: configured, create, probe_secs: probeSeconds }): SignerProvider {
    const directory = resolve(configured)
    const loop = loopQueue(turnMs)
    const pool = poolQueue(poolWidth)
    /** Tells whether a key was asked for. Until then, the directory may be one that the first key is to make. */
    let used = false
    return {
      probeSeconds,
      async open(ref, alg, signal) {
        signal.throwIfAborted()
        used = true
        const { keyType } = algorithms[alg]
        let privateKey = await readKeyFile(directory, ref)
        if (privateKey === undefined && create) {
          await makeKeyFile(directory, ref, keyType)
          privateKey = await readKeyFile(directory, ref)
        }
        if (privateKey === undefined)
          throw new KeyRefused(`${ref} does not exist in ${directory}; create it with: signet keys create`)
        return openSigner(ref, alg, privateKey, keyTypes[keyType].signedOn === 'pool' ? pool : loop, signal)
      },
      async ping(signal) {
        signal.throwIfAborted()
        try {
          if (!used && (await isMissing(directory))) return
          await checkDirectory(directory)
        } catch (cause) {
          throw new Unavailable('signers.local', 'no', 'The key directory cannot be used.', { cause })
        }
      },
      async create(ref, alg, signal) {
        signal.throwIfAborted()
        const { made } = await makeKeyFile(directory, ref, algorithms[alg].keyType)
        if (!made) throw new KeyRefused(`${ref} already exists in ${directory}`)
        return ref
      },
      async find(name, signal, tags) {
        signal.throwIfAborted()
        if (tags !== undefined) await removeNameless(directory, name)
        return (await readKeyFile(directory, name)) === undefined ? [] : [name]
      },
      async list(prefix, _deployment, signal) {
        signal.throwIfAborted()
        return (await listKeyFiles(directory, prefix)).map((name) => ({ ref: name, name }))
      },
      facts() {
        const { node, openssl } = process.versions
        return Promise.resolve({ directory: { path: directory }, software: { node, openssl } })
      },
      removal: {
        // A file is as usable as it is readable, so there is nothing between a key and no key.
        disable: () => Promise.resolve(),
        async destroy(ref, signal) {
          signal.throwIfAborted()
          checkRef(ref)
          await removeKeyFile(directory, ref)
        },
      },
      // Neither a file nor a thread is kept open.
      [Symbol.asyncDispose]: () => Promise.resolve(),
    }
  },
})
