import type { Command } from 'commander'
import type { GrantOptions } from './grants.js'
import { configOption, demand, jsonOption } from './options.js'
import type { ClientOfPersonOptions, PersonOptions } from './person.js'
import type { SessionOptions } from './sessions.js'

/** What a person has opened and allowed: found and ended by the person. */
export const addPersonCommands = (program: Command): void => {
  const sessions = program.command('sessions').description('who is signed in in which browser').helpCommand(false)
  ofPerson(sessions, 'list', 'the sessions of a person').action(async (options: PersonOptions, command: Command) => {
    demand(command, 'sub')
    await (await import('./sessions.js')).printSessions(options)
  })
  ofPerson(sessions, 'end', 'end the sessions of a person; what clients were granted goes on')
    .option('--sid <sid>', 'that one alone')
    .action(async (options: SessionOptions, command: Command) => {
      demand(command, 'sub')
      await (await import('./sessions.js')).endSessions(options)
    })

  addGrantCommands(program.command('grants').description('what people and clients were granted').helpCommand(false))

  const consents = program.command('consents').description('what people have allowed clients').helpCommand(false)
  ofPerson(consents, 'list', 'what a person has allowed').action(async (options: PersonOptions, command: Command) => {
    demand(command, 'sub')
    await (await import('./consents.js')).printConsents(options)
  })
  ofPerson(consents, 'revoke', 'forget what a person has allowed: the person is asked again')
    .option('--client <client_id>', 'that client alone')
    .action(async (options: ClientOfPersonOptions, command: Command) => {
      demand(command, 'sub')
      await (await import('./consents.js')).revokeConsents(options)
    })

  const people = program.command('people').description('people, whatever signs them in').helpCommand(false)
  ofPerson(people, 'end', 'end all sessions, grants and consents of a person at once').action(
    async (options: PersonOptions, command: Command) => {
      demand(command, 'sub')
      await (await import('./people.js')).endPerson(options)
    },
  )
}

const addGrantCommands = (grants: Command): void => {
  ofPerson(grants, 'list', 'what a person has granted clients, with the ids that revoke takes').action(
    async (options: PersonOptions, command: Command) => {
      demand(command, 'sub')
      await (await import('./grants.js')).printGrants(options)
    },
  )
  grants
    .command('revoke')
    .description('end a grant with all its tokens, by the grant_id of the audit log; or those of a person')
    .argument('[grant_id]', 'with -- before it where it begins with a hyphen')
    .option('--sub <sub>', 'all grants of this person')
    .option('--client <client_id>', 'with --sub: those to this client alone')
    .addOption(configOption())
    .addOption(jsonOption())
    .action(async (grantId: string | undefined, options: RevokeOptions, command: Command) => {
      const { sub } = options
      if ((grantId === undefined) === (sub === undefined)) command.error('error: give a grant_id or --sub')
      if (options.client !== undefined && sub === undefined) command.error('error: --client needs --sub')
      const { revokeGrant, revokeGrantsOf } = await import('./grants.js')
      if (grantId !== undefined) await revokeGrant(grantId, options)
      else if (sub !== undefined) await revokeGrantsOf({ ...options, sub })
    })
}

interface RevokeOptions extends GrantOptions {
  readonly sub?: string
  readonly client?: string
}

const ofPerson = (group: Command, name: string, description: string): Command =>
  group
    .command(name)
    .description(description)
    .option('--sub <sub>', 'the subject that clients see (required)')
    .addOption(configOption())
    .addOption(jsonOption())
