import { isDeepStrictEqual } from 'node:util'
import { isoTime } from '../clock.js'
import { randomBytes } from 'node:crypto'
import { resolve } from 'node:path'
import { stringify } from 'yaml'
import { readConfig } from '../../config/load.js'
import { ConfigurationError } from '../../config/problems.js'
import { defaultPurposes, keyPurposes } from '../../config/keys.js'
import { loadModules } from '../modules/load-modules.js'
import { lifetimeOf } from '../keys/lifecycle/open-ring.js'
import { createSignerProviders } from '../modules/registries.js'
import { expandSlots, slotsOf, waits } from '../keys/slots/expand-slots.js'
import type { SlotRecord } from '../keys/slots/slot.js'
import { readKnownKeys } from './known-keys.js'
import { stateAt } from '../keys/key-states.js'
import { KeyRefused, type KeyPurpose, type SignerProvider } from '../keys/ports.js'
import { newProbe } from '../keys/probe.js'
import { explainKeyError } from '../keys/open-keys.js'
import type { JwsAlg } from '../jose/jwk.js'
import { checkPublicJwk } from '../jose/public-key-guard.js'
import { verifySignature } from '../jose/verify-signature.js'
import type { JsonObject } from '../json.js'
import { noLog } from '../observe/log.js'
import { readDeployment, type DeploymentOptions } from './deployment.js'
import { CommandFailed } from './failure.js'
import { print, printError, printJson } from './output.js'
import { printTable } from './table.js'

export interface ListKeysOptions extends DeploymentOptions {
  readonly json?: true
}

/**
 * Implements `signet keys list`. It uses only the configuration and the clock, so that it works while a signer is
 * unavailable.
 */
export const printKeys = async (options: ListKeysOptions): Promise<void> => {
  const config = await readDeployment(options)
  const now = Date.now()
  const slots = slotsOf(config).length === 0 ? new Map<string, SlotRecord>() : (await readKnownKeys(config)).slots
  const rows = expandSlots(config.keys, slots).map(({ path: _path, ...key }) => ({
    ...key,
    state: stateAt(lifetimeOf(config, key), now),
  }))
  const iso = (time: number | undefined) => (time === undefined || time === waits ? undefined : isoTime(time))
  if (options.json) {
    return printJson(rows.map((row) => ({ ...row, not_before: iso(row.not_before), not_after: iso(row.not_after) })))
  }
  printTable(
    ['KID', 'ALG', 'SIGNER', 'REF', 'STATE', 'NOT BEFORE', 'NOT AFTER', 'PURPOSES'],
    rows.map((row) => [
      row.kid,
      row.alg,
      row.signer,
      row.ref,
      row.state,
      iso(row.not_before) ?? '',
      iso(row.not_after) ?? '',
      describePurposes(row.purposes),
    ]),
  )
}

const describePurposes = (purposes: readonly KeyPurpose[]): string => {
  if (purposes.length === keyPurposes.length) return 'all'
  return isDeepStrictEqual(purposes, defaultPurposes) ? 'all but audit' : purposes.join(' ')
}

export interface CreateKeyOptions extends DeploymentOptions {
  readonly signer: string
  readonly alg: JwsAlg
  readonly kid?: string
  readonly ref?: string
  readonly json?: true
}

/** This is in milliseconds. An HSM can take long to create an RSA key. */
const createBudgetMs = 60_000

/** Implements `signet keys create`. It creates a key, lets it sign once, and prints what `keys:` needs for it. */
export const createKey = async (options: CreateKeyOptions): Promise<void> => {
  const { alg, signer: name } = options
  const reading = await readConfig(options.config, process.env)
  const kid = options.kid ?? `${alg.toLowerCase()}-${randomBytes(4).toString('hex')}`
  if (reading.salvaged.keys?.some((key) => key !== undefined && 'kid' in key && key.kid === kid)) {
    throw new CommandFailed(`The configuration already has a key ${kid}.`)
  }
  // The rest of the file need not be valid, because it may still wait for this key.
  const entry = reading.salvaged.signers?.[name]
  const own = reading.problems.filter(({ path }) => path === '' || `${path}.`.startsWith(`signers.${name}.`))
  if (own.length > 0) throw new ConfigurationError(own)
  if (entry === undefined) throw new CommandFailed(`The configuration has no signer ${name}.`)
  const { signers, problems } = await loadModules({ plugins: [], signers: { [name]: entry } }, resolve(reading.file))
  if (problems.length > 0) throw new ConfigurationError(reading.locate(problems))

  // The person who creates a key should see what a signer does by itself.
  const log = {
    ...noLog,
    warn: (message: string, fields: JsonObject = {}) => printError(describeWarning(message, fields)),
  }
  await using providers = await createSignerProviders(signers, { clock: Date.now, log })
  const provider = providers.byName.get(name)
  if (provider?.create === undefined) throw new CommandFailed(`The signer ${name} cannot create keys.`)
  const signal = AbortSignal.timeout(createBudgetMs)
  const ref = await provider.create(options.ref ?? kid, alg, signal)
  const failure = await tryKey(provider, ref, alg, signal)
  // The key exists even if its signature fails, and only these lines name it.
  const works = failure === undefined
  printError(
    `Created${works ? '' : ', but it cannot sign yet'}. Add this to \`keys:\` in ${reading.file}${works ? ', in order of preference' : ' once it can'}:`,
  )
  const created = { kid, alg, signer: name, ref }
  if (options.json) printJson(created)
  else print(stringify([created], { lineWidth: 0 }).trimEnd().replaceAll(/^/gm, '  '))
  if (!works) throw new CommandFailed(`The key was created, but cannot sign: ${explainKeyError(failure)}`)
}

/** A warning of a signer, in one line. */
export const describeWarning = (message: string, fields: JsonObject): string =>
  [
    'warning:',
    message,
    ...Object.entries(fields).map(
      ([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`,
    ),
  ].join(' ')

/** Returns undefined when a signature of the new key verifies with its public key. */
const tryKey = async (provider: SignerProvider, ref: string, alg: JwsAlg, signal: AbortSignal): Promise<unknown> => {
  try {
    const signer = await provider.open(ref, alg, signal)
    const { publicKey } = checkPublicJwk(signer.publicJwk, [alg])
    const probe = newProbe()
    const signature = await signer.sign(probe, signal)
    const isValid = await verifySignature({ alg, jwk: signer.publicJwk, publicKey }, probe, signature)
    return isValid ? undefined : new KeyRefused('its signature does not verify with its public key')
  } catch (error) {
    return error
  }
}
