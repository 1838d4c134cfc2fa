import type { Outcome } from './command-host.js'
import { configuration, openCommandLine, type CommandLine, type Service } from './command-line.js'

/** The client that the configuration has. */
export const fixedClient = { id: 'teller', secret: 'teller-secret-of-more-than-256-bits-for-tests' }

const fixed = `clients: [{ client_id: ${fixedClient.id}, client_secret: ${fixedClient.secret}, grant_types: [client_credentials], scope: api }]`

/** A service, and `signet clients` beside it. */
export interface ClientCommands extends AsyncDisposable {
  readonly cli: CommandLine
  readonly service: Service
  clients(command: string, ...args: readonly string[]): Promise<Outcome>
}

export const openClientCommands = async (): Promise<ClientCommands> => {
  const cli = await openCommandLine()
  await cli.write('signet.yaml', configuration(fixed))
  return {
    cli,
    service: await cli.serve(['start', '--config', 'signet.yaml']),
    clients: (command, ...args) => cli.run(['clients', command, ...args, '--config', 'signet.yaml']),
    [Symbol.asyncDispose]: () => cli[Symbol.asyncDispose](),
  }
}
