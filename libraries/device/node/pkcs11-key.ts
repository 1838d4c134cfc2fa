import { checkMembers, kinds } from '../../wire/options.js'
import { createHash } from 'node:crypto'
import type { PKCS11 } from 'pkcs11js'
import { DeviceError, withErrorCode } from '../errors.js'
import type { DeviceKey } from '../key.js'
import { codeOf, loadModule, openKey, type OpenKey } from './pkcs11-token.js'

export interface Pkcs11KeyOptions {
  /** Selects the token by its label; `slot` selects by number. */
  readonly token?: string
  readonly slot?: number
  /** The absolute path of the vendor's PKCS#11 library. */
  readonly module: string
  readonly pin: string
  /** `CKA_LABEL` of the key pair. */
  readonly label: string
}

export interface Pkcs11Key extends DeviceKey, AsyncDisposable {}

const CKM_ECDSA = 0x1041
/** Tokens count wrong PINs, so a PIN that was wrong once is not tried again. */
const pinCodes: ReadonlySet<number> = new Set([0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0x102])
/** The session or the login was lost; a new session may sign. */
const lostCodes: ReadonlySet<number> = new Set([0x30, 0x32, 0x60, 0x82, 0x90, 0x91, 0xb0, 0xb3, 0xe0, 0x101])
/** Milliseconds. A token that takes longer to sign counts as hanging. */
const signWithin = 10_000

/**
 * A P-256 key held by an HSM, through pkcs11js, which compiles on installation. The key must exist; the token is
 * selected by its label (`token`) or its `slot`. The vendor's library runs in this process, on threads of Node's
 * pool. Throws `DeviceError`.
 */
export const pkcs11Key = async (options: Pkcs11KeyOptions): Promise<Pkcs11Key> => {
  checkMembers(
    'options',
    options,
    {
      ...{ token: kinds.name, slot: kinds.amount, module: kinds.name, pin: kinds.text, label: kinds.name },
    },
    ['module', 'pin', 'label'],
  )
  const { module, pin, label } = options
  if (options.token === undefined && options.slot === undefined) throw new TypeError('token or slot is missing')
  const inToken = <T>(work: () => Promise<T>): Promise<T> =>
    withErrorCode('KeyFailed', `The key ${label} failed.`, work)
  let last: Promise<unknown> = Promise.resolve()
  let refused: DeviceError | undefined

  const library = await withErrorCode('KeyFailed', `${module} cannot be loaded.`, () => loadModule(module))
  const open = (): OpenKey => {
    if (refused) throw refused
    try {
      return openKey(library, options, pin, label)
    } catch (cause) {
      if (pinCodes.has(codeOf(cause))) refused = new DeviceError('KeyFailed', 'The token refused the PIN.', { cause })
      throw refused ?? cause
    }
  }
  let key: OpenKey | undefined = await inToken(async () => open())
  const { publicJwk } = key

  const close = (): void => {
    try {
      if (key) library.C_CloseSession(key.session)
    } catch {
      // The token has already closed it.
    }
    key = undefined
  }
  const reopen = (): OpenKey => {
    const found = open()
    if (found.publicJwk.x !== publicJwk.x || found.publicJwk.y !== publicJwk.y) {
      library.C_CloseSession(found.session)
      throw new Error('Another key has replaced it.')
    }
    return found
  }
  const signOnce = async (digest: Buffer): Promise<Buffer> => {
    key ??= reopen()
    return signWith(library, key, digest)
  }

  return {
    publicJwk,
    // One session makes one signature at a time.
    sign: (input) => {
      const digest = createHash('sha256').update(input).digest()
      const mine = last.then(() =>
        inToken(() =>
          signOnce(digest).catch((error: unknown) => {
            close()
            if (!lostCodes.has(codeOf(error))) throw error
            return signOnce(digest)
          }),
        ),
      )
      last = mine.catch(() => undefined)
      return mine
    },
    async [Symbol.asyncDispose]() {
      await last
      close()
    },
  }
}

const signWith = async (library: PKCS11, { session, privateKey }: OpenKey, digest: Buffer): Promise<Buffer> => {
  library.C_SignInit(session, { mechanism: CKM_ECDSA }, privateKey)
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error('The token does not answer.')), signWithin)
  })
  try {
    return await Promise.race([library.C_SignAsync(session, digest, Buffer.alloc(64)), late])
  } finally {
    clearTimeout(timer)
  }
}
