import { existsSync } from 'node:fs'

/** What tests need beside Node: a program, and the Debian packages that bring it. */
interface Service {
  readonly packages: readonly string[]
  /** The first that exists is the one to run. */
  readonly paths: readonly string[]
}

const services = {
  script: { packages: ['bsdutils'], paths: ['/usr/bin/script'] },
  chromium: { packages: ['chromium'], paths: ['/usr/bin/chromium', '/usr/bin/google-chrome'] },
  softhsm2: { packages: ['softhsm2'], paths: ['/usr/lib/softhsm/libsofthsm2.so'] },
  'oidc-agent': { packages: ['oidc-agent-cli'], paths: ['/usr/bin/oidc-agent'] },
  opensc: { packages: ['opensc'], paths: ['/usr/bin/pkcs11-tool'] },
} as const satisfies Record<string, Service>

export type ServiceName = keyof typeof services

export const serviceNames = Object.keys(services) as readonly ServiceName[]

export const packagesOf = (name: ServiceName): readonly string[] => services[name].packages

/** The path of the program, or undefined where it is not installed. */
export const findService = (name: ServiceName): string | undefined =>
  services[name].paths.find((path) => existsSync(path))

export const onContinuousIntegration = (): boolean => process.env['CI'] === 'true'

export const howToGet = (name: ServiceName): string => `${name} (Debian: apt-get install ${packagesOf(name).join(' ')})`
