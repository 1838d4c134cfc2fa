import { execFile, execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Log, SignerProvider } from '../../../../core/api/signer.js'
import { noLog } from '../../../../core/observe/log.js'
import pkcs11 from '../../../../signers/pkcs11/index.js'

const run = promisify(execFile)

export const softhsmModule = '/usr/lib/softhsm/libsofthsm2.so'

const forbidding = fileURLToPath(new URL('forbid-signing.cjs', import.meta.url))

/** A SoftHSM, in a temporary directory, with one token. */
export interface SoftToken extends AsyncDisposable {
  readonly module: string
  readonly label: string
  readonly pin: string
  readonly directory: string
  /** What a process needs to see this token. */
  readonly environment: Readonly<Record<string, string>>
  /** Runs OpenSC's `pkcs11-tool` on the token, logged in. */
  tool(...args: string[]): Promise<string>
  /** Makes a key pair by other means than the signer's own: `EC:prime256v1`, `rsa:2048`, `EC:edwards25519`. */
  makeKey(type: string, label: string, id: string): Promise<void>
  /** Makes `CKA_SIGN` of a private key false. */
  forbidSigning(label: string): void
  serial(): Promise<string>
  /** Takes the token's directory away, as if the token had been unplugged. */
  remove(): Promise<void>
  putBack(): Promise<void>
}

const configuration = (tokens: string): string =>
  `directories.tokendir = ${tokens}\nobjectstore.backend = file\nlog.level = ERROR\nslots.removable = false\n`

export const makeToken = async (): Promise<SoftToken> => {
  const directory = await mkdtemp(join(tmpdir(), 'signet-softhsm-'))
  const tokens = join(directory, 'tokens')
  const away = join(directory, 'away')
  const file = join(directory, 'softhsm2.conf')
  await mkdir(tokens)
  await writeFile(file, configuration(tokens))
  const label = `token-${randomBytes(4).toString('hex')}`
  const pin = `${randomBytes(6).toString('hex')}`
  const environment = { SOFTHSM2_CONF: file }
  const env = { ...process.env, ...environment }
  const init = ['--init-token', '--free', '--label', label, '--pin', pin, '--so-pin', `${pin}-so`]
  await run('softhsm2-util', init, { env })

  const tool = async (...args: string[]): Promise<string> => {
    const login = ['--module', softhsmModule, '--token-label', label, '--login', '--pin', pin]
    return (await run('pkcs11-tool', [...login, ...args], { env })).stdout
  }
  return {
    module: softhsmModule,
    label,
    pin,
    directory,
    environment,
    tool,
    async makeKey(type, name, id) {
      await tool('--keypairgen', '--key-type', type, '--label', name, '--id', id, '--usage-sign')
    },
    forbidSigning(name) {
      execFileSync(process.execPath, [forbidding, softhsmModule, label, name], { env, input: pin })
    },
    async serial() {
      const { stdout } = await run('softhsm2-util', ['--show-slots'], { env })
      return /Serial number: +(\w+)/.exec(stdout)?.[1] ?? ''
    },
    remove: () => rename(tokens, away),
    putBack: () => rename(away, tokens),
    [Symbol.asyncDispose]: () => rm(directory, { recursive: true }),
  }
}

/** The signer as the host makes it: options through its schema. */
export const openProvider = async (
  token: Pick<SoftToken, 'module' | 'label' | 'pin' | 'environment'>,
  options: Readonly<Record<string, unknown>> = {},
  log: Log = noLog,
): Promise<SignerProvider> => {
  const { module, label, pin, environment } = token
  const checked = await pkcs11.options?.['~standard'].validate({ module, token: label, pin, environment, ...options })
  if (checked === undefined || checked.issues !== undefined)
    throw new Error(checked?.issues.map((issue) => issue.message).join())
  return pkcs11.create(checked.value, { clock: Date.now, log })
}
