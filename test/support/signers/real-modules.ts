import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { vi } from 'vitest'
import { Disposables } from '../../../core/disposables.js'
import { freePort } from '../free-port.js'
import { makeToken } from './softhsm/token.js'

const run = promisify(execFile)

/** A token of a module that Debian has, as the signer is configured for it. Disposing of it ends its processes. */
export interface RealToken extends AsyncDisposable {
  readonly module: string
  readonly label: string
  readonly pin: string
  readonly environment: Readonly<Record<string, string>>
  /** Beside the token and the PIN. */
  readonly options: Readonly<Record<string, unknown>>
}

const stop = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGKILL')
  await once(child, 'exit')
}

const eventually = (isSo: () => boolean | Promise<boolean>, what: string): Promise<void> =>
  vi.waitFor(
    async () => {
      if (!(await isSo())) throw new Error(`not yet: ${what}`)
    },
    { timeout: 30_000, interval: 100 },
  )

const appears = (path: string): Promise<void> => eventually(() => existsSync(path), path)

/** What was started ends also when what follows it fails. */
const make = async (
  begin: (disposables: Disposables) => Promise<Omit<RealToken, typeof Symbol.asyncDispose>>,
): Promise<RealToken> => {
  const disposables = new Disposables()
  try {
    return { ...(await begin(disposables)), [Symbol.asyncDispose]: () => disposables.close() }
  } catch (error) {
    await disposables.close()
    throw error
  }
}

/** SoftHSM behind `p11-kit server`: each thread that loads the client has an instance of the library. */
export const p11KitToken = (module: string): Promise<RealToken> =>
  make(async (disposables) => {
    const token = await makeToken()
    disposables.add(() => token[Symbol.asyncDispose]())
    const socket = join(token.directory, 'p11-kit')
    const args = ['server', '--foreground', '--provider', token.module, '--name', socket, `pkcs11:token=${token.label}`]
    const server = spawn('p11-kit', args, { env: { ...process.env, ...token.environment }, stdio: 'ignore' })
    disposables.add(() => stop(server))
    await appears(socket)
    const { label, pin } = token
    const environment = { P11_KIT_SERVER_ADDRESS: `unix:path=${socket}` }
    return { module, label, pin, environment, options: {} }
  })

/** The same SoftHSM through p11-kit's proxy, which loads it by a registration in the home directory. */
export const p11KitProxyToken = async (module: string): Promise<RealToken> => {
  const token = await makeToken()
  const modules = join(token.directory, '.config', 'pkcs11', 'modules')
  await mkdir(modules, { recursive: true })
  await writeFile(join(modules, 'soft.module'), `module: ${token.module}\n`)
  await writeFile(join(dirname(modules), 'pkcs11.conf'), 'user-config: only\n')
  const { label, pin } = token
  // It loads all that is registered on the machine, and a TPM that is not there says so at length.
  const environment = { ...token.environment, HOME: token.directory, TSS2_LOG: 'all+none' }
  const proxy = join(dirname(dirname(module)), 'p11-kit-proxy.so')
  return { ...token, module: proxy, label, pin, environment, options: {} }
}

/** OpenSC's recorder before a SoftHSM. Its record, which would have the PIN, goes nowhere. */
export const spyToken = async (module: string): Promise<RealToken> => {
  const token = await makeToken()
  const environment = { ...token.environment, PKCS11SPY: token.module, PKCS11SPY_OUTPUT: '/dev/null' }
  return { ...token, module, environment, options: {} }
}

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })

/** Two ports in a row: the TCTI of swtpm takes the control channel to be behind the other. */
const twoPorts = async (): Promise<number> => {
  const port = await freePort()
  return (await isFree(port + 1)) ? port : twoPorts()
}

const isListening = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    const say = (open: boolean): void => {
      socket.destroy()
      resolve(open)
    }
    socket.once('connect', () => say(true)).once('error', () => say(false))
  })

/** A TPM 2.0 in software, behind its resource manager on a bus of its own. */
export const tpmToken = (module: string): Promise<RealToken> =>
  make(async (disposables) => {
    const directory = await mkdtemp(join(tmpdir(), 'signet-tpm-'))
    disposables.add(() => rm(directory, { recursive: true }))
    const [state, store, bus] = ['state', 'store', 'bus'].map((name) => join(directory, name)) as [
      string,
      string,
      string,
    ]
    await mkdir(state)
    await mkdir(store)
    await run('swtpm_setup', ['--tpm2', '--tpmstate', state, '--createek'])
    const port = await twoPorts()
    const keep = (program: string, args: readonly string[], env: NodeJS.ProcessEnv = process.env): void => {
      const child = spawn(program, args, { env, stdio: 'ignore' })
      disposables.add(() => stop(child))
    }
    const channels = ['--server', `type=tcp,port=${port}`, '--ctrl', `type=tcp,port=${port + 1}`]
    keep('swtpm', [
      'socket',
      '--tpm2',
      '--tpmstate',
      `dir=${state}`,
      ...channels,
      '--flags',
      'not-need-init,startup-clear',
    ])
    await eventually(() => isListening(port + 1), 'swtpm listens')
    const address = `unix:path=${bus}`
    keep('dbus-daemon', ['--session', '--nofork', '--nopidfile', `--address=${address}`])
    await appears(bus)
    const environment = {
      DBUS_SESSION_BUS_ADDRESS: address,
      TPM2_PKCS11_STORE: store,
      TPM2_PKCS11_TCTI: 'tabrmd:bus_type=session',
      TSS2_LOG: 'all+none',
    }
    const env = { ...process.env, ...environment, TPM2TOOLS_TCTI: environment.TPM2_PKCS11_TCTI }
    keep('tpm2-abrmd', ['--session', '--allow-root', `--tcti=swtpm:host=127.0.0.1,port=${port}`], env)
    const init = () =>
      run('tpm2_ptool', ['init', '--path', store], { env }).then(
        () => true,
        () => false,
      )
    await eventually(init, 'tpm2_ptool init')
    const pin = '123456'
    await run(
      'tpm2_ptool',
      ['addtoken', '--pid', '1', '--label', 'tpm', '--userpin', pin, '--sopin', pin, '--path', store],
      { env },
    )
    // A TPM makes some ten signatures a second.
    const options = { sessions: 1, deadline_ms: 20_000 }
    return { module, label: 'tpm', pin, environment, options }
  })

/** NSS takes its configuration as parameters of the library. */
export const nssToken = async (module: string): Promise<RealToken> => {
  const directory = await mkdtemp(join(tmpdir(), 'signet-nss-'))
  const pin = 'nss-password'
  await writeFile(join(directory, 'password'), pin)
  await run('certutil', ['-N', '-d', `sql:${directory}`, '-f', join(directory, 'password')])
  return {
    module,
    label: 'NSS Certificate DB',
    pin,
    environment: {},
    options: {
      library_parameters: `configdir='sql:${directory}' certPrefix='' keyPrefix='' secmod='secmod.db'`,
      deadline_ms: 20_000,
    },
    [Symbol.asyncDispose]: () => rm(directory, { recursive: true }),
  }
}
