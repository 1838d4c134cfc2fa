import { isDeepStrictEqual } from 'node:util'
import { isoTime } from '../clock.js'
import type { Config } from '../../config/schema.js'
import { defaultPurposes } from '../../config/keys.js'
import { isRefusal, type Refusal } from '../administration/administration.js'
import { adoptKey, releaseSlot, rotateSlot, type Adopted, type FixedEntry } from '../administration/key-slots.js'
import { isSlot, slotsOf } from '../keys/slots/expand-slots.js'
import { administer, readDeployment, type DeploymentOptions } from './deployment.js'
import { CommandFailed } from './failure.js'
import { print, printError, printJson, printYaml } from './output.js'

export interface SlotOptions extends DeploymentOptions {
  readonly slot: string
  readonly json?: true
}

export interface RotateOptions extends SlotOptions {
  readonly compromised?: string
  readonly yes?: true
}

export interface AdoptOptions extends SlotOptions {
  readonly kid: string
}

const failed = <Why extends string>(
  { refused, reason }: Refusal<Why>,
  texts: Readonly<Record<Why, string>>,
): CommandFailed => new CommandFailed(reason === undefined ? texts[refused] : `${texts[refused]} ${reason}`)

const unknown = 'The configuration has no slot of this name.'

const notRotated = {
  unknown,
  released: 'The slot was released. "signet keys adopt" takes its key back.',
  empty: 'The slot has no key yet. The service or a ceremony makes the first one.',
  unknown_key: 'The slot has no key with this kid. "signet keys plan" lists its keys.',
  ended: 'The key has ended already: nothing accepts its signatures.',
  busy: 'Another key of the slot is being withdrawn. Repeat the command when it is.',
} as const

/** A key that the file has too is published for as long as it is there. */
const isInFile = (config: Config, kid: string | undefined): boolean =>
  config.keys.some((entry) => !isSlot(entry) && entry.kid === kid)

/** Implements `signet keys rotate`. */
export const rotate = async (options: RotateOptions): Promise<void> => {
  const { slot, compromised, json } = options
  const config = await readDeployment(options)
  const result = await administer(config, (administration, by) => rotateSlot(administration, by, options))
  if (isRefusal(result)) throw failed(result, notRotated)
  if (isInFile(config, compromised))
    printError('warning: the file still has an entry of this key: remove it, and reload with --force')
  if (json) return printJson({ slot, state: 'requested', compromised })
  const by = slotsOf(config).find((one) => one.slot === slot)?.rotate.by
  const next =
    by === 'ceremony'
      ? 'Unless a key is ready, it waits for "signet keys ceremony"'
      : 'The service begins within five seconds, or a minute after its start'
  print(`Requested the next key of ${slot}. ${next}; signet keys plan shows how far it is.`)
}

const notAdopted = {
  unknown,
  not_in_file: 'The file has no entry with this kid, and the slot gives no such kid.',
  unpublished: 'The key was never published, or was withdrawn: a reload publishes it first.',
  over: 'The key does not sign now: see its not_before and not_after.',
  alg: 'The slot has another algorithm, so its next key could not sign in the place of this one.',
  signing: 'The slot already has a key that signs.',
  known: 'The slot already has this key.',
  used: 'This kid was used before, and a kid never changes its key. The slot takes the next number.',
  released: 'The slot was released. Adopt its signing key first.',
} as const

const adopted: Readonly<Record<Adopted['adopted'], (options: AdoptOptions) => string>> = {
  fixed: ({ kid, slot }) =>
    `Adopted ${kid} as the first key of ${slot}. Now remove its entry from the file, and reload every replica.`,
  found: ({ kid, slot }) => `Adopted ${kid}. The slot ${slot} takes its next step within five seconds.`,
  resumed: ({ kid, slot }) => `Adopted ${kid}. The slot ${slot} rotates again.`,
}

/** Implements `signet keys adopt`. */
export const adopt = async (options: AdoptOptions): Promise<void> => {
  const { slot, kid, json } = options
  const config = await readDeployment(options)
  const result = await administer(config, (administration, by) => adoptKey(administration, by, options))
  if (isRefusal(result)) throw failed(result, notAdopted)
  if (json) return printJson({ slot, kid, ...result })
  print(adopted[result.adopted](options))
}

const notReleased = { unknown, empty: 'The slot has no key that signs.' } as const

const toYaml = ({ purposes, not_before, not_after, ...entry }: FixedEntry) => ({
  ...entry,
  ...(!isDeepStrictEqual(purposes, defaultPurposes) && { purposes }),
  ...(not_before !== undefined && { not_before: isoTime(not_before) }),
  ...(not_after !== undefined && { not_after: isoTime(not_after) }),
})

/** Implements `signet keys release`. Only standard output has the entries. */
export const release = async (options: SlotOptions): Promise<void> => {
  const config = await readDeployment(options)
  const result = await administer(config, (administration, by) => releaseSlot(administration, by, options))
  if (isRefusal(result)) throw failed(result, notReleased)
  const entries = result.entries.map(toYaml)
  if (options.json) return printJson(entries)
  printError(`Released. Put this in the place of the slot ${options.slot} under \`keys:\`, and reload every replica:`)
  printYaml(entries)
}
