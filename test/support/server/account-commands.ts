import { configuration, openCommandLine, type CommandLine } from './command-line.js'
import type { Outcome } from './command-host.js'

const fixed =
  'accounts: [{ username: alice, password: alice-password, sub: "248289761001", claims: { name: Alice Adams } }]'

/** `signet accounts` of a deployment whose configuration has one account, alice. */
export interface AccountCommands extends AsyncDisposable {
  readonly cli: CommandLine
  accounts(args: readonly string[], input?: string): Promise<Outcome>
}

export const openAccountCommands = async (): Promise<AccountCommands> => {
  const cli = await openCommandLine()
  await cli.write('signet.yaml', configuration(fixed))
  await cli.run(['migrate', '--config', 'signet.yaml'])
  return {
    cli,
    accounts: (args, input = '') => cli.run(['accounts', ...args, '--config', 'signet.yaml'], { input }),
    [Symbol.asyncDispose]: () => cli[Symbol.asyncDispose](),
  }
}
