import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { CeremonyRefused } from '../key-ceremony/ceremony-refused.js'
import { readCeremony } from '../key-ceremony/ceremony-file.js'
import { holdCeremony, type HeldCeremony } from '../key-ceremony/hold-ceremony.js'
import { verifyTranscript } from '../key-ceremony/verify-transcript.js'
import { isObject, type JsonObject } from '../json.js'
import { noLog } from '../observe/log.js'
import { askPeople, describePlan } from './ceremony-dialogue.js'
import { administer, readDeployment, type DeploymentOptions } from './deployment.js'
import { CommandFailed } from './failure.js'
import { describeWarning } from './keys.js'
import { good, heading, print, printError, printJson, printYaml, show } from './output.js'

export interface CeremonyOptions extends DeploymentOptions {
  readonly dryRun?: true
  readonly out?: string
  readonly json?: true
}

/** `ceremony-20261126T150405Z` in the working directory. */
const defaultFolder = (): string => `ceremony-${new Date().toISOString().replaceAll(/[-:]|\.\d+/g, '')}`

const printHeld = ({ text, entry, signed, transcript }: HeldCeremony, out: string): void => {
  const { key, dry_run: dryRun } = transcript
  print(`\n${text.trimEnd()}\n`)
  print(
    `${dryRun ? 'Rehearsed' : good('Made')}. ${signed ? 'The signed' : 'The unsigned'} transcript is in ${show(out)}.`,
  )
  if (dryRun) return
  if (entry === undefined) return print(`The service publishes and uses ${key.kid} by itself: see "signet keys plan".`)
  printError('Add this to `keys:` in the configuration, in order of preference, and reload:')
  printYaml([entry])
}

/** Implements `signet keys ceremony`. */
export const ceremony = async (file: string, options: CeremonyOptions): Promise<void> => {
  const config = await readDeployment(options)
  const { out = defaultFolder(), json, dryRun } = options
  const say = json ? printError : print
  const log = {
    ...noLog,
    warn: (message: string, fields: JsonObject = {}) => printError(describeWarning(message, fields)),
  }
  try {
    const reading = await readCeremony(file)
    const held = await administer(config, (administration, by) =>
      holdCeremony(administration, by, {
        ...{ reading, out: resolve(out), dryRun: dryRun === true, configFile: options.config, log },
        reread: async () => (await readCeremony(file)).sha256,
        confirm(plan) {
          for (const line of describePlan(plan, out, json ? (title) => title : heading)) say(line)
          return askPeople(plan.present)
        },
      }),
    )
    if (json) printJson({ ...held.transcript, signed: held.signed, folder: resolve(out) })
    else printHeld(held, out)
  } catch (error) {
    if (error instanceof CeremonyRefused) throw new CommandFailed(error.message)
    throw error
  }
}

export interface VerifyCeremonyOptions {
  readonly key?: string
  readonly json?: true
}

/** The keys of a JWK or a JWK Set (RFC 7517). */
const readKeys = async (path: string): Promise<readonly unknown[]> => {
  const text = await readFile(path, 'utf8')
  try {
    const value: unknown = JSON.parse(text)
    if (isObject(value)) return Array.isArray(value['keys']) ? (value['keys'] as readonly unknown[]) : [value]
  } catch {
    // The same words as for other JSON.
  }
  throw new CommandFailed(`${path}: it holds neither a JWK nor a JWK Set.`)
}

/** Implements `signet keys ceremony verify`. The exit code is 1 when something does not belong together. */
export const verifyCeremony = async (folder: string, { key, json }: VerifyCeremonyOptions): Promise<void> => {
  const trusted = key === undefined ? undefined : await readKeys(key)
  const { faults, signedBy, dryRun, kid, thumbprint } = await verifyTranscript(folder, trusted)
  if (faults.length > 0) process.exitCode = 1
  if (json)
    return printJson({ valid: faults.length === 0, faults, signed_by: signedBy, dry_run: dryRun, kid, thumbprint })
  for (const fault of faults) printError(fault)
  if (faults.length > 0 || signedBy === undefined) return
  print(
    dryRun === true
      ? `DRY RUN: no key was made (${show(String(kid))}).`
      : `The key ${show(String(kid))} was made: its thumbprint is ${show(String(thumbprint))}.`,
  )
  print(`JSON, text and signature belong together. Signed by ${show(signedBy.kid)}, thumbprint ${signedBy.thumbprint}.`)
  if (trusted === undefined)
    printError(
      'warning: any key could have signed: compare the thumbprint of the signer with one that you trust, or use --key',
    )
}
