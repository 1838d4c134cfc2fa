import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parse, stringify } from 'yaml'
import type { Clock } from '../../../core/clock.js'
import { demoConfigFile } from '../../../core/cli/deployment.js'
import { checkConfiguration } from '../../../core/checks/check-configuration.js'
import { startHost } from '../../../core/host/compose.js'
import { createDemo, type Demo } from '../../../core/demo/demo.js'
import { loadPages } from '../../../core/host/load-pages.js'
import { freePort } from '../free-port.js'
import { withDevices } from '../clients/device.js'
import { testConfiguration } from './server.js'

export interface DemoServer extends AsyncDisposable {
  readonly issuer: string
  readonly demo: Demo
  /** The configuration, for commands that a person types beside it. */
  readonly file: string
}

/** The whole product with its demo clients and account, at an issuer that ends in `path`. */
export const startDemoServer = async (path: string, alg: string, clock: Clock = Date.now): Promise<DemoServer> => {
  const directory = await mkdtemp(join(tmpdir(), 'signet-demo-'))
  const port = await freePort()
  const file = join(directory, 'signet.yaml')
  const written = withDevices(testConfiguration(directory, port))
  const attested = ['grants/ciba', 'attestation/bootstrap', 'attestation/registry']
  const factors = attested.map((name) => ({ use: `plugins/${name}` }))
  const demoConfig = parse(readFileSync(demoConfigFile, 'utf8')) as Record<string, unknown>
  const configuration = {
    ...written,
    attestation: { signing_alg: alg },
    authorization_details_types: demoConfig['authorization_details_types'],
    registration: demoConfig['registration'],
    plugins: [...(written['plugins'] as object[]), ...factors],
    issuer: `http://127.0.0.1:${port}${path}`,
    id_token_signing_alg: alg,
    keys: [{ kid: 'the-key', alg, signer: 'local', ref: 'key.pem' }],
  }
  await writeFile(file, stringify(configuration))
  const checked = await checkConfiguration(file, {}, loadPages)
  const demo = createDemo(checked.config, file)
  const log = { debug() {}, info() {}, warn() {}, error: (...entry: unknown[]) => console.error(...entry) }
  const host = await startHost(checked, { clock, log, demo })
  return {
    issuer: checked.config.issuer,
    demo,
    file,
    [Symbol.asyncDispose]: async () => {
      await host.close(1000)
      await rm(directory, { recursive: true, force: true })
    },
  }
}
