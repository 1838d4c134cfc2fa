import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { mongoStandIn, nimbusClient, nimbusVerifier } from './java-programs.js'
import { recipes, type RecipeName } from './recipes.js'

/** What tests need beside Node: a program, and the Debian packages that bring it. */
interface Service {
  readonly packages: readonly string[]
  /** The first that exists is the one to run. */
  readonly paths: readonly string[]
  /** The npm package that reaches it, which may be absent: it is optional, and compiled when it is installed. */
  readonly through?: string
  /** The environment variable that names your own server, to be used instead. */
  readonly instead?: string
}

const programs = {
  script: { packages: ['bsdutils'], paths: ['/usr/bin/script'] },
  chromium: { packages: ['chromium'], paths: ['/usr/bin/chromium', '/usr/bin/google-chrome'] },
  softhsm2: { packages: ['softhsm2'], paths: ['/usr/lib/softhsm/libsofthsm2.so'], through: 'pkcs11js' },
  'p11-kit': {
    packages: ['p11-kit', 'p11-kit-modules'],
    paths: ['x86_64', 'aarch64'].map((machine) => `/usr/lib/${machine}-linux-gnu/pkcs11/p11-kit-client.so`),
    through: 'pkcs11js',
  },
  'pkcs11-spy': {
    packages: ['opensc-pkcs11'],
    paths: ['x86_64', 'aarch64'].map((machine) => `/usr/lib/${machine}-linux-gnu/pkcs11-spy.so`),
    through: 'pkcs11js',
  },
  tpm2: {
    packages: [
      ...['swtpm', 'swtpm-tools', 'tpm2-tools', 'tpm2-abrmd', 'dbus'],
      ...['libtss2-tcti-tabrmd0', 'libtpm2-pkcs11-1', 'libtpm2-pkcs11-tools'],
    ],
    paths: ['x86_64', 'aarch64'].map((machine) => `/usr/lib/${machine}-linux-gnu/libtpm2_pkcs11.so.1`),
    through: 'pkcs11js',
  },
  nss: {
    packages: ['libnss3', 'libnss3-tools'],
    paths: ['x86_64', 'aarch64'].map((machine) => `/usr/lib/${machine}-linux-gnu/libsoftokn3.so`),
    through: 'pkcs11js',
  },
  'oidc-agent': { packages: ['oidc-agent-cli'], paths: ['/usr/bin/oidc-agent'] },
  openssl: { packages: ['openssl'], paths: ['/usr/bin/openssl'] },
  curl: { packages: ['curl'], paths: ['/usr/bin/curl'] },
  logrotate: { packages: ['logrotate'], paths: ['/usr/sbin/logrotate'] },
  jq: { packages: ['jq'], paths: ['/usr/bin/jq'] },
  gcc: { packages: ['gcc', 'libc6-dev'], paths: ['/usr/bin/gcc'] },
  opensc: { packages: ['opensc'], paths: ['/usr/bin/pkcs11-tool'] },
  haproxy: { packages: ['haproxy'], paths: ['/usr/sbin/haproxy'] },
  nginx: { packages: ['nginx'], paths: ['/usr/sbin/nginx'] },
  'mod-auth-openidc': {
    packages: ['libapache2-mod-auth-openidc'],
    paths: ['/usr/lib/apache2/modules/mod_auth_openidc.so'],
  },
  faketime: {
    packages: ['faketime'],
    paths: ['x86_64', 'aarch64'].map((machine) => `/usr/lib/${machine}-linux-gnu/faketime/libfaketime.so.1`),
  },
  mongodb: {
    packages: ['default-jdk-headless', 'maven'],
    paths: [mongoStandIn.classFile],
    instead: 'MONGODB_URI',
  },
  nimbus: { packages: ['default-jdk-headless', 'maven'], paths: [nimbusClient.classFile] },
  'nimbus verifier': { packages: ['default-jdk-headless', 'maven'], paths: [nimbusVerifier.classFile] },
  redis: { packages: ['redis-server'], paths: ['/usr/bin/redis-server'], instead: 'REDIS_URI' },
} as const satisfies Record<string, Service>

const recipeServices = Object.fromEntries(
  Object.entries(recipes).map(([name, { debian, installed }]) => [
    `${name} recipe`,
    { packages: debian, paths: [installed] },
  ]),
) as unknown as Record<`${RecipeName} recipe`, Service>

const services = { ...programs, ...recipeServices }

export type ServiceName = keyof typeof services

export const serviceNames = Object.keys(services) as readonly ServiceName[]

export const packagesOf = (name: ServiceName): readonly string[] => services[name].packages

const load = createRequire(import.meta.url)

const loads = (name: string): boolean => {
  try {
    load(name)
    return true
  } catch {
    return false
  }
}

/** The path of the program, or undefined where it, or what reaches it, is not installed; or the server to be used instead. */
export const findService = (name: ServiceName): string | undefined => {
  const { paths, through, instead }: Service = services[name]
  const server = instead && process.env[instead]
  if (server !== undefined && server !== '') return server
  return through === undefined || loads(through) ? paths.find((path) => existsSync(path)) : undefined
}

export const onContinuousIntegration = (): boolean => process.env['CI'] === 'true'

export const howToGet = (name: ServiceName): string => {
  const { packages, through }: Service = services[name]
  if (name.endsWith(' recipe')) return `${name} (npm run pretest, or for some npm run pretest:recipes)`
  const rebuild = through === undefined ? '' : `; npm rebuild ${through}, with a C++ compiler, make and python3`
  return `${name} (Debian: apt-get install ${packages.join(' ')}${rebuild})`
}
