import { createPrivateKey, generateKeyPair, randomUUID, type KeyObject } from 'node:crypto'
import { constants } from 'node:fs'
import { link, mkdir, open, readdir, stat, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { KeyRefused, keyTypes, Unavailable, type KeyType } from '../../core/api/signer.js'

const component = 'signers.local'
/** An RSA key of 4096 bits is a PEM of 3.3 KiB. */
const maxFileBytes = 16 * 1024
const groupAndOthersMode = 0o077

const errorCode = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code

const refusals: Readonly<Record<string, string>> = {
  EACCES: 'may not be opened by this user',
  EPERM: 'may not be opened by this user',
  ENOTDIR: 'has a parent that is not a directory',
  EISDIR: 'is a directory',
  ELOOP: 'is a loop of symbolic links',
  EROFS: 'cannot be created on a read-only file system',
}

/** A problem that an operator must fix is a refusal; exhausted resources of disk or process may recover. */
const failureAt = (path: string, cause: unknown): Error => {
  if (cause instanceof KeyRefused || cause instanceof Unavailable) return cause
  const refusal = refusals[errorCode(cause) ?? '']
  if (refusal !== undefined) return new KeyRefused(`${path} ${refusal}`, { cause })
  return new Unavailable(component, 'no', 'The key directory cannot be used.', { cause })
}

/** Requires a plain name inside the directory: no separator, no `..`, nothing hidden. */
export const checkRef = (ref: string): void => {
  if (/^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/.test(ref)) return
  throw new KeyRefused(
    'ref must be the name of a file in the directory of the signer: letters, digits, `.`, `_`, `-`, not starting with `.`',
  )
}

/** Tells whether the directory is still to be made, which the first key does. Throws `KeyRefused` and `Unavailable`. */
export const isMissing = async (directory: string): Promise<boolean> => {
  try {
    await stat(directory)
    return false
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return true
    throw failureAt(directory, error)
  }
}

/** Throws `KeyRefused` when others can list or change the directory, and `Unavailable` when it cannot be read. */
export const checkDirectory = async (directory: string): Promise<void> => {
  try {
    const found = await stat(directory)
    if (!found.isDirectory()) throw new KeyRefused(`${directory} is not a directory`)
    if ((found.mode & groupAndOthersMode) !== 0)
      throw new KeyRefused(`${directory} is open to other users; run: chmod 700 ${directory}`)
  } catch (error) {
    if (errorCode(error) === 'ENOENT') throw new KeyRefused(`the directory ${directory} does not exist`)
    throw failureAt(directory, error)
  }
}

/**
 * Reads the key of a PKCS#8 PEM file, or returns undefined when there is no such file. Throws `KeyRefused` and
 * `Unavailable`.
 */
export const readKeyFile = async (directory: string, ref: string): Promise<KeyObject | undefined> => {
  checkRef(ref)
  const path = join(directory, ref)
  try {
    await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
    // Checks the opened file, so that it cannot be exchanged between the check and the reading.
    const found = await file.stat()
    if (!found.isFile()) throw new KeyRefused(`${path} is not a file`)
    if ((found.mode & groupAndOthersMode) !== 0)
      throw new KeyRefused(`${path} is open to other users; run: chmod 600 ${path}`)
    if (found.size > maxFileBytes) throw new KeyRefused(`${path} is too large for a key`)
    await checkDirectory(directory)
    return parseKey(path, await file.readFile())
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined
    throw failureAt(path, error)
  }
}

const parseKey = (path: string, pem: Buffer): KeyObject => {
  try {
    if (!pem.includes('-----BEGIN PRIVATE KEY-----'))
      throw new KeyRefused(
        `${path} is not an unencrypted PKCS#8 key in PEM; run: openssl pkcs8 -topk8 -nocrypt -in ${path} -out NEW`,
      )
    return createPrivateKey(pem)
  } catch (cause) {
    if (cause instanceof KeyRefused) throw cause
    // The cause is dropped, because OpenSSL's messages about a private key must not leave this function.
    throw new KeyRefused(`${path} is damaged: it cannot be read as a PKCS#8 key`)
  } finally {
    pem.fill(0)
  }
}

const generate = promisify(generateKeyPair) as unknown as (
  type: string,
  options: object,
) => Promise<{ privateKey: KeyObject }>

/**
 * Creates a key and its file. `made` is false when the file already existed; it is left as it is, so that of several
 * processes starting at once one creates the key and all use it. Throws `KeyRefused` and `Unavailable`.
 */
export const makeKeyFile = async (directory: string, ref: string, type: KeyType): Promise<{ made: boolean }> => {
  checkRef(ref)
  const path = join(directory, ref)
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 })
    await checkDirectory(directory)
    const { node } = keyTypes[type]
    // RSA keys get 2048 bits, which every relying party accepts. 3072 bits would cost three times the CPU per
    // signature, and keys of a token service live for months, not decades (NIST SP 800-57 part 1, table 4: 2048 bits
    // until 2030).
    const { privateKey } = await generate(node.type, { modulusLength: 2048, namedCurve: node.namedCurve })
    return await placeFile(directory, ref, privateKey.export({ type: 'pkcs8', format: 'pem' }))
  } catch (error) {
    throw failureAt(path, error)
  }
}

/** Linking a finished file makes it appear complete and exactly once; renaming could replace another process's key. */
const placeFile = async (directory: string, ref: string, pem: string | Buffer): Promise<{ made: boolean }> => {
  const temporary = join(directory, `.${ref}.${randomUUID()}.tmp`)
  try {
    await using file = await open(temporary, 'wx', 0o600)
    await file.writeFile(pem)
    await file.sync()
    await link(temporary, join(directory, ref))
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return { made: false }
    throw error
  } finally {
    await unlink(temporary).catch(() => undefined)
  }
  await syncDirectory(directory)
  return { made: true }
}

const syncDirectory = async (directory: string): Promise<void> => {
  await using folder = await open(directory, constants.O_RDONLY)
  await folder.sync()
}

const isNameless = (name: string): boolean => name.startsWith('.') && name.endsWith('.tmp')

/**
 * The files of keys whose names begin with `prefix`, those that an interrupted creation has left without a name too.
 * Throws `KeyRefused` and `Unavailable`.
 */
export const listKeyFiles = async (directory: string, prefix: string): Promise<readonly string[]> => {
  try {
    const names = await readdir(directory)
    return names.filter((name) => (isNameless(name) ? name.slice(1) : name).startsWith(prefix)).toSorted()
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return []
    throw failureAt(directory, error)
  }
}

/** Removes what interrupted creations of this key have left. Nothing has signed with it. */
export const removeNameless = async (directory: string, ref: string): Promise<void> => {
  for (const name of await listKeyFiles(directory, `${ref}.`))
    if (isNameless(name)) await removeKeyFile(directory, name)
}

/** Removes the file of a key, if there is one. Throws `KeyRefused` and `Unavailable`. */
export const removeKeyFile = async (directory: string, name: string): Promise<void> => {
  const path = join(directory, name)
  try {
    await unlink(path)
    await syncDirectory(directory)
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw failureAt(path, error)
  }
}
