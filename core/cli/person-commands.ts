import type { Command } from 'commander'
import type { GrantOptions } from './grants.js'
import { addTarget, configOption, demand, jsonOption, wideOption } from './options.js'
import type { SeenByOptions } from './pairwise-people.js'
import type { EndPersonOptions } from './people.js'
import type { ClientOfPersonOptions, PersonOptions } from './person.js'

/** Adds the commands that find and end what a person has opened and allowed. */
export const addPersonCommands = (program: Command): void => {
  const sessions = program.command('sessions').description('sign-ins, one for each browser').helpCommand(false)
  ofPerson(sessions, 'list', 'list the sessions of a person')
    .addOption(wideOption())
    .action(async (options: PersonOptions) => (await import('./sessions.js')).printSessions(options))
  addTarget(sessions.command('end'))
    .description(
      'end sessions of a person or of everybody, with what was granted in them without offline_access; or those at one client',
    )
    .option('--sub <sub>', `those of this person: ${localSub}`)
    .option('--sid <sid>', 'with --sub: only this session')
    .option('--all', 'those of everybody: all people sign in again')
    .option('--client <client_id>', 'those at this client, by back-channel logout; people stay signed in here')
    .addOption(jsonOption())
    .action(async ({ sub, sid, all, client, ...options }: EndOptions, command: Command) => {
      if ([sub, all, client].filter((one) => one !== undefined).length !== 1)
        command.error('error: give one of --sub, --all and --client')
      if (sid !== undefined && sub === undefined) command.error('error: --sid needs --sub')
      const { endAllSessions, endClientSessions, endSessions } = await import('./sessions.js')
      if (sub !== undefined) return endSessions({ ...options, sub, ...(sid !== undefined && { sid }) })
      return client === undefined ? endAllSessions(options) : endClientSessions(client, options)
    })

  addGrantCommands(program.command('grants').description('what people have granted to clients').helpCommand(false))

  const consents = program.command('consents').description('consents that Signet remembers').helpCommand(false)
  ofPerson(consents, 'list', 'list the consents of a person')
    .addOption(wideOption())
    .action(async (options: PersonOptions) => (await import('./consents.js')).printConsents(options))
  ofPerson(consents, 'revoke', 'forget consents of a person: Signet asks the person again')
    .option('--client <client_id>', 'only this client')
    .action(async (options: ClientOfPersonOptions) => (await import('./consents.js')).revokeConsents(options))

  const people = program
    .command('people')
    .description('people, whichever login plugin signs them in')
    .helpCommand(false)
  ofPerson(people, 'end', 'end all sessions, grants, consents and factors of a person at once')
    .option('--factors', 'passkeys, the authenticator app and recovery codes go, too', true)
    .option('--no-factors', 'keep them, and print which they are')
    .action(async (options: EndPersonOptions) => (await import('./people.js')).endPerson(options))
  ofPerson(people, 'erase', 'erase everything that is stored of a person, but the audit log').action(
    async (options: PersonOptions) => (await import('./people.js')).erasePerson(options),
  )
  ofClient(
    people,
    'find',
    'find the person whom a client knows by this subject',
    'what the client calls the person',
  ).action(async (options: SeenByOptions) => (await import('./pairwise-people.js')).findPerson(options))
  ofClient(people, 'subject', 'print the subject by which a client knows a person', localSub).action(
    async (options: SeenByOptions) => (await import('./pairwise-people.js')).printSubject(options),
  )
}

const addGrantCommands = (grants: Command): void => {
  ofPerson(grants, 'list', 'list what a person has granted to clients, with the ids for revoke')
    .addOption(wideOption())
    .action(async (options: PersonOptions) => (await import('./grants.js')).printGrants(options))
  addTarget(grants.command('revoke'))
    .description('end a grant with all its tokens, by the grant_id of the audit log; or those of a person')
    .argument('[grant_id]', 'put -- before an id that begins with a hyphen')
    .option('--sub <sub>', 'all grants of this person')
    .option('--client <client_id>', 'with --sub: only those to this client')
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

interface EndOptions extends GrantOptions {
  readonly sub?: string
  readonly sid?: string
  readonly all?: true
  readonly client?: string
}

interface RevokeOptions extends GrantOptions {
  readonly sub?: string
  readonly client?: string
}

const localSub = 'the subject of the person, as the audit log has it'

const ofPerson = (group: Command, name: string, description: string): Command =>
  withSub(addTarget(group.command(name).description(description)), localSub)

const withSub = (command: Command, sub: string): Command =>
  command
    .option('--sub <sub>', `${sub} (required)`)
    .addOption(jsonOption())
    .hook('preAction', (command) => demand(command, 'sub'))

const ofClient = (group: Command, name: string, description: string, sub: string): Command =>
  withSub(group.command(name).description(description).addOption(configOption()), sub)
    .option('--client <client_id>', 'the client (required)')
    .hook('preAction', (command) => demand(command, 'client'))
