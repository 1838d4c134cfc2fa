import { InvalidArgumentError, Option, type Command } from 'commander'
import { allAlgorithms } from '../jose/algorithms.js'
import type { CeremonyOptions, VerifyCeremonyOptions } from './key-ceremony.js'
import type { AdoptOptions, RotateOptions, SlotOptions } from './key-slots.js'
import type { CreateKeyOptions, ListKeysOptions } from './keys.js'
import { parseNoteKey, type NoteKey } from '../keys/log/note.js'
import { findOutboundFault } from '../outbound/outbound-fetch.js'
import type { KeyLogKeyOptions, VerifyKeyLogOptions } from './key-log.js'
import { configOption, demand, jsonOption, wideOption } from './options.js'
import type { PlanKeysOptions } from './plan-keys.js'
import type { StrayKeysOptions } from './stray-keys.js'

/** Adds the commands for the keys of a deployment. */
export const addKeyCommands = (keys: Command): void => {
  keys
    .command('list')
    .description('list the configured keys and their states')
    .addOption(configOption())
    .addOption(jsonOption())
    .addOption(wideOption())
    .action(async (options: ListKeysOptions) => (await import('./keys.js')).printKeys(options))
  keys
    .command('plan')
    .description('show the timeline of the keys: changes, signing keys and gaps')
    .addOption(
      new Option('--months <count>', 'how far ahead slots are planned, 1 to 60').argParser(parseMonths).default(12),
    )
    .addOption(configOption())
    .addOption(jsonOption())
    .addOption(wideOption())
    .action(async (options: PlanKeysOptions) => (await import('./plan-keys.js')).printPlan(options))
  keys
    .command('strays')
    .description('list the keys that signers of slots hold and no record knows')
    .addOption(configOption())
    .addOption(jsonOption())
    .addOption(wideOption())
    .action(async (options: StrayKeysOptions) => (await import('./stray-keys.js')).printStrays(options))
  keys
    .command('create')
    .description('create a key in a signer and print the lines for `keys:`')
    .addOption(configOption())
    .option('--signer <name>', 'the name of the signer in the configuration (required)')
    .addOption(new Option('--alg <alg>', 'the algorithm (required)').choices(allAlgorithms))
    .option('--kid <kid>', 'default: the algorithm and a random part')
    .option('--ref <ref>', 'the name for the signer; default: the kid')
    .addOption(jsonOption())
    .action(async (options: CreateKeyOptions, command: Command) => {
      demand(command, 'signer', 'alg')
      await (await import('./keys.js')).createKey(options)
    })
  addSlotCommands(keys)
  addCeremonyCommands(keys)
  addLogCommands(keys.command('log').description('the public log of keys').helpCommand(false))
}

/** Adds the commands for keys that are made with people in a room. */
const addCeremonyCommands = (keys: Command): void => {
  const ceremony = keys
    .command('ceremony')
    .description('make a key with people in a room, and write a signed transcript')
    .argument('<file>', 'what is made, where, and who is present, in YAML')
    .option('--dry-run', 'do everything but make the key')
    .option('--out <folder>', 'a new folder for the transcript; default: ceremony-TIME')
    .addOption(configOption())
    .addOption(jsonOption())
    .helpCommand(false)
    .action(async (file: string, options: CeremonyOptions) =>
      (await import('./key-ceremony.js')).ceremony(file, options),
    )
  ceremony
    .command('verify')
    .description('check that JSON, text and signature of a transcript belong together')
    .argument('<folder>', 'the folder of the transcript')
    .option('--key <file>', 'the JWK or JWK Set of which one key must have signed')
    .addOption(jsonOption())
    .action(async (folder: string, options: VerifyCeremonyOptions) =>
      (await import('./key-ceremony.js')).verifyCeremony(folder, options),
    )
}

const parseMonths = (written: string): number => {
  const months = /^[1-9]\d?$/.test(written) ? Number(written) : NaN
  if (!(months <= 60)) throw new InvalidArgumentError('Write a number from 1 to 60.')
  return months
}

const slotOption = (): Option => new Option('--slot <name>', 'the name of the slot in the configuration (required)')

/** Adds the commands for slots, whose keys Signet makes and changes by itself. */
const addSlotCommands = (keys: Command): void => {
  keys
    .command('rotate')
    .description('start the next key of a slot now, and withdraw a compromised one')
    .addOption(slotOption())
    .option('--compromised <kid>', 'withdraw this key as soon as another can sign, and end what it signed; needs --yes')
    .option('--yes', 'confirm that tokens of the compromised key are refused, and people signed out')
    .addOption(configOption())
    .addOption(jsonOption())
    .action(async (options: RotateOptions, command: Command) => {
      demand(command, 'slot')
      if (options.compromised !== undefined && options.yes !== true)
        command.error(
          'error: --compromised makes every token of that key invalid and ends what it signed; confirm it with --yes',
        )
      await (await import('./key-slots.js')).rotate(options)
    })
  keys
    .command('adopt')
    .description('take a fixed key of the file, or one that only the backend knows, into a slot')
    .addOption(slotOption())
    .option('--kid <kid>', 'the key (required)')
    .addOption(configOption())
    .addOption(jsonOption())
    .action(async (options: AdoptOptions, command: Command) => {
      demand(command, 'slot', 'kid')
      await (await import('./key-slots.js')).adopt(options)
    })
  keys
    .command('release')
    .description('end the rotation of a slot, and print the fixed entries of its keys for the file')
    .addOption(slotOption())
    .addOption(configOption())
    .addOption(jsonOption())
    .action(async (options: SlotOptions, command: Command) => {
      demand(command, 'slot')
      await (await import('./key-slots.js')).release(options)
    })
}

/** Adds the commands for the public log of keys. */
const addLogCommands = (log: Command): void => {
  log
    .command('verify')
    .description('watch the key log of an issuer, from any machine: exit code 1 when something is wrong')
    .argument('<issuer>', 'the URL of the issuer', parseIssuer)
    .option('--state <file>', 'remember what was seen, and compare it with that next time')
    .addOption(new Option('--key <key>', 'what "keys log key" prints; default: that of the state').argParser(parseKey))
    .addOption(jsonOption())
    .action(async (issuer: string, options: VerifyKeyLogOptions) =>
      (await import('./key-log.js')).verifyKeyLog(issuer, options),
    )
  log
    .command('key')
    .description('print the verifier key of the key log')
    .addOption(configOption())
    .addOption(jsonOption())
    .action(async (options: KeyLogKeyOptions) => (await import('./key-log.js')).printKeyLogKey(options))
}

const parseIssuer = (written: string): string => {
  const fault = findOutboundFault(written)
  if (fault !== undefined || written.includes('?'))
    throw new InvalidArgumentError(`It ${fault ?? 'must have no query'}.`)
  return written
}

const parseKey = (written: string): NoteKey => {
  const key = parseNoteKey(written)
  if (key === undefined) throw new InvalidArgumentError('It must be a verifier key for Ed25519: <name>+<hash>+<key>.')
  return key
}
