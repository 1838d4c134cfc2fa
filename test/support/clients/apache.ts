import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { testCertificate } from '../server/certificate.js'

/** Of the package that every module depends on. */
const program = '/usr/sbin/apache2'

/** Of Debian's default installation, then those of `a2enmod`. */
const modules = ['mpm_event', 'authn_core', 'authz_core', 'authz_user', 'dir', 'mime', 'socache_shmcb']
const enabled = ['ssl', 'auth_openidc']

export interface ApacheOptions {
  readonly port: string
  /** A `VirtualHost`: certificate `chain.pem`, `key.pem` and the folder `pages` are below `directory`. */
  readonly site: (directory: string) => string
  /** What it serves, by name. */
  readonly pages: Readonly<Record<string, string>>
  readonly env: NodeJS.ProcessEnv
}

export interface Apache extends AsyncDisposable {
  /** `<version of TLS> <method> <path> <status> <user>` of each request, without the user where nobody is signed in. */
  requests(): Promise<readonly string[]>
}

const configuration = (directory: string, port: string): string => `
${[...modules, ...enabled].map((name) => `LoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so`).join('\n')}
ServerRoot ${directory}
DefaultRuntimeDir ${directory}
PidFile ${directory}/apache2.pid
User www-data
Group www-data
StartServers 1
ServerName localhost
Listen 127.0.0.1:${port}
TypesConfig /dev/null
AddType text/html .html
ErrorLog "|/bin/cat"
CustomLog ${directory}/access.log "%{SSL_PROTOCOL}x %m %U%q %>s %u"
`

/** Debian's Apache with one site, in a folder of its own; disposing of it stops it. */
export const startApache = async ({ port, site, pages, env }: ApacheOptions): Promise<Apache> => {
  const directory = await mkdtemp(join(tmpdir(), 'signet-apache-'))
  const write = (name: string, text: string) => writeFile(join(directory, name), text)
  // Its workers belong to another user.
  await chmod(directory, 0o755)
  await mkdir(join(directory, 'pages'))
  for (const [name, text] of Object.entries(pages)) await write(`pages/${name}`, text)
  await write('chain.pem', testCertificate.cert)
  await write('key.pem', testCertificate.key)
  await write('apache2.conf', configuration(directory, port) + site(directory))

  const child = spawn(program, ['-DFOREGROUND', '-f', join(directory, 'apache2.conf')], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const closed = once(child, 'close')
  let output = ''
  const serves = new Promise<void>((resolve) => {
    for (const stream of [child.stdout, child.stderr])
      createInterface(stream).on('line', (line) => {
        output += `${line}\n`
        if (line.includes('resuming normal operations')) resolve()
      })
  })
  const apache = {
    requests: async () => {
      const log = await readFile(join(directory, 'access.log'), 'utf8')
      return log.split('\n').map((line) => line.replace(/ (?:-|"")$/, ''))
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM')
      await closed
      await rm(directory, { recursive: true })
    },
  }
  try {
    await Promise.race([serves, closed.then(() => Promise.reject(new Error(`Apache ended: ${output}`)))])
    return apache
  } catch (error) {
    await apache[Symbol.asyncDispose]()
    throw error
  }
}
