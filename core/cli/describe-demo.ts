import type { Config } from '../../config/schema.js'
import type { Demo } from '../host/demo.js'
import type { Host } from '../host/compose.js'
import { packageVersion } from '../package-root.js'
import { defaultConfigFile } from './deployment.js'
import { heading } from './output.js'

/** What to try next, for whoever started the service without a configuration. */
export const describeDemo = (config: Config, demo: Demo, listening: Host['listening']): string => `
${heading(`Signet ${packageVersion} serves ${config.issuer} with the demo configuration.`)}

Get a token for a service:

  ${demo.curl}

Sign a person in and see the tokens:

  ${config.issuer}/
  username  ${demo.page.username}
  password  ${demo.page.password}

The secret and the password are new at every start. Files of the demo:

${dataFiles(config)
  .map(([what, path]) => `  ${what.padEnd(8)}  ${path}`)
  .join('\n')}

Health is on ${listening.admin}/health/ready. A configuration of your own, without demo clients and account:

  cp ${defaultConfigFile} my.yaml
  npx signet check --config my.yaml
  npm start -- --config my.yaml
`

const dataFiles = ({ signers, storage, audit }: Config): readonly (readonly [string, string])[] => [
  ...Object.values(signers).flatMap(({ options }) => {
    const { directory } = (options ?? {}) as { readonly directory?: unknown }
    return typeof directory === 'string' ? [['keys', directory] as const] : []
  }),
  ['data', storage.records.options.path],
  ['audit', audit === 'stdout' ? 'standard output' : audit.file],
]
