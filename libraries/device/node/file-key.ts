import { createPrivateKey, createPublicKey, generateKeyPair, randomUUID, sign, type KeyObject } from 'node:crypto'
import { link, open, rm, writeFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { checkMembers, kinds } from '../../wire/options.js'
import { DeviceError } from '../errors.js'
import type { DeviceKey } from '../key.js'

const groupAndOthersMode = 0o077

/**
 * A P-256 key in a PKCS#8 PEM file of mode 0600, created if there is none. Processes that create it at the same time
 * all get the same key. Throws `DeviceError`, also for a file that others can read.
 */
export const fileKey = async (path: string): Promise<DeviceKey> => {
  checkMembers('fileKey', { path }, { path: kinds.name }, ['path'])
  const key = (await readKey(path)) ?? (await makeKey(path))
  const { x = '', y = '' } = createPublicKey(key).export({ format: 'jwk' })
  return {
    publicJwk: { kty: 'EC', crv: 'P-256', x, y },
    sign: async (input) => sign('sha256', input, { key, dsaEncoding: 'ieee-p1363' }),
  }
}

const failed = (path: string, why: string, cause?: unknown): DeviceError =>
  new DeviceError('KeyFailed', `${path} ${why}`, { cause })

const readKey = async (path: string): Promise<KeyObject | undefined> => {
  try {
    await using file = await open(path, 'r')
    // Checks the opened file, so that it cannot be exchanged between the check and the reading.
    const found = await file.stat()
    if (!found.isFile()) throw failed(path, 'is not a file.')
    if (process.platform !== 'win32' && (found.mode & groupAndOthersMode) !== 0)
      throw failed(path, `is open to other users; run: chmod 600 ${path}`)
    return parseKey(path, await file.readFile())
  } catch (error) {
    if (error instanceof DeviceError) throw error
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw failed(path, 'cannot be read.', error)
  }
}

const parseKey = (path: string, pem: Buffer): KeyObject => {
  const key = (() => {
    try {
      return createPrivateKey(pem)
    } catch (cause) {
      throw failed(path, 'has no private key in PEM, without a passphrase.', cause)
    }
  })()
  if (key.asymmetricKeyDetails?.namedCurve !== 'prime256v1') throw failed(path, 'has a key that is not a P-256 key.')
  return key
}

/** Written completely and then linked, so that nobody reads half a key and no existing key is replaced. */
const makeKey = async (path: string): Promise<KeyObject> => {
  const { privateKey } = await promisify(generateKeyPair)('ec', { namedCurve: 'P-256' })
  const next = `${path}.${randomUUID()}`
  try {
    await writeFile(next, privateKey.export({ type: 'pkcs8', format: 'pem' }), { flag: 'wx', mode: 0o600, flush: true })
    await link(next, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw failed(path, 'cannot be made.', error)
  } finally {
    await rm(next, { force: true })
  }
  const kept = await readKey(path)
  if (!kept) throw failed(path, 'was removed while it was made.')
  return kept
}
