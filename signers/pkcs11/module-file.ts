import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { realpath } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { KeyRefused } from '../../core/api/signer.js'

/** The file of the vendor's library, behind all links, and its SHA-256 in hexadecimal digits. Throws `KeyRefused`. */
export const describeModule = async (path: string): Promise<{ readonly path: string; readonly sha256: string }> => {
  try {
    const file = await realpath(path)
    const digest = createHash('sha256')
    await pipeline(createReadStream(file), digest)
    return { path: file, sha256: digest.digest('hex') }
  } catch (cause) {
    throw new KeyRefused('the file of the PKCS#11 library cannot be read', { cause })
  }
}
