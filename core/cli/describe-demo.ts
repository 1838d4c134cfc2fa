import type { Config } from '../../config/schema.js'
import type { Demo } from '../demo/demo.js'
import type { Host } from '../host/compose.js'
import { packageVersion } from '../package-root.js'
import { demoConfigFile } from './deployment.js'
import { heading } from './output.js'

/** Describes what to try next after a start without a configuration. */
export const describeDemo = (
  config: Config,
  demo: Demo,
  listening: Host['listening'],
  { device: deviceSecret, link }: { readonly device: string | undefined; readonly link: string },
): string => `
${heading(`Signet ${packageVersion} serves ${config.issuer} with the demo configuration.`)}

Get a token for a service:

  ${demo.curl}

Sign in and see the tokens:

  ${config.issuer}/
  username  ${demo.page.username}
  password  ${demo.page.password}
${config.plugins.some(({ use }) => use === 'plugins/login/passkey') ? passkey(config.issuer) : ''}${
  deviceSecret === undefined ? '' : enrolment(config.issuer, deviceSecret)
}
Administer it in the console. This link signs you in once, within 15 minutes:

  ${listening.admin.replace('127.0.0.1', 'localhost')}${link}

The secrets and the password are new at every start. The demo keeps its files here:

${dataFiles(config)
  .map(([what, path]) => `  ${what.padEnd(8)}  ${path}`)
  .join('\n')}

Health: ${listening.admin}/health/ready

A configuration of your own, without demo clients and account:

  cp ${demoConfigFile} my.yaml
  npx signet-idp check --config my.yaml
  npx signet-idp start --config my.yaml
`

const passkey = (issuer: string): string => `
Add a passkey, and sign in with it the next time, also after a new start:

  ${issuer}/account/passkeys
`

const enrolment = (issuer: string, secret: string): string => `
Enrol your browser as a device with this one-time secret, further down the same page:

  ${issuer}/#demo-enrolment
  secret    ${secret}
`

const dataFiles = ({ signers, storage, audit }: Config): readonly (readonly [string, string])[] => [
  ...Object.values(signers).flatMap(({ options }) => {
    const { directory } = (options ?? {}) as { readonly directory?: unknown }
    return typeof directory === 'string' ? [['keys', directory] as const] : []
  }),
  ['data', (storage.records.options as { readonly path: string }).path],
  ['audit', audit === 'stdout' ? 'standard output' : audit.file],
]
