import { readFile, rename, writeFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { isObject } from '../json.js'
import { checkPublicJwk } from '../jose/public-key-guard.js'
import { stateAt } from '../keys/key-states.js'
import { lifetimeOf } from '../keys/lifecycle/open-ring.js'
import { originOf } from '../keys/log/checkpoint.js'
import { formatNoteKey, noteKey, type NoteKey } from '../keys/log/note.js'
import { expandSlots } from '../keys/slots/expand-slots.js'
import { watchKeyLog, type KeyLogLook, type SeenLog } from '../operate/watch-key-log.js'
import { createOutboundFetch } from '../outbound/outbound-fetch.js'
import { readDeployment, type DeploymentOptions } from './deployment.js'
import { CommandFailed } from './failure.js'
import { readKnownKeys } from './known-keys.js'
import { print, printJson } from './output.js'

export interface VerifyKeyLogOptions {
  readonly state?: string
  readonly key?: NoteKey
  readonly json?: true
}

/** Milliseconds for one document, and for all. */
const fetchMs = 10_000
const verifyMs = 600_000

/** A watcher that has lost its memory must not take that for a first look. */
const readSeen = async (file: string): Promise<SeenLog | undefined> => {
  let text: string
  try {
    text = await readFile(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    value = undefined
  }
  if (!isObject(value) || typeof value['key'] !== 'string' || typeof value['checkpoint'] !== 'string')
    throw new CommandFailed(`${file}: this is not what an earlier "signet keys log verify" wrote.`)
  return { key: value['key'], checkpoint: value['checkpoint'] }
}

/** Replaces the file as a whole. */
const writeSeen = async (file: string, seen: SeenLog): Promise<void> => {
  const next = `${file}.new`
  await writeFile(next, `${JSON.stringify(seen, null, 2)}\n`)
  await rename(next, file)
}

const printLook = ({ findings, size, seen, followed }: KeyLogLook, isFirst: boolean): void => {
  for (const { kind, kid, message } of findings)
    print(`${kind.replace('_', ' ')}: ${kid === undefined ? '' : `${JSON.stringify(kid)}: `}${message}`)
  if (followed !== undefined) print(`Another key signs now, as the log had announced. Before: ${followed}`)
  if (seen === undefined) return
  if (isFirst) print(`First look: nothing to compare it with. The key of the log is ${seen.key}`)
  if (findings.length === 0) print(`${String(size)} entries, and every key of the issuer is among them.`)
}

/** Implements `signet keys log verify`. The exit code is 1 when there is a finding. */
export const verifyKeyLog = async (url: string, { state, key, json }: VerifyKeyLogOptions): Promise<void> => {
  const issuer = url.replace(/\/+$/, '')
  const seen = state === undefined ? undefined : await readSeen(state)
  // The operator names the host, which may be on any network.
  const fetch = createOutboundFetch({ allowPrivateAddresses: true, deadlineMs: fetchMs })
  const signal = AbortSignal.timeout(verifyMs)
  const look = await watchKeyLog({
    ...{ issuer, seen, key, now: Date.now(), sleep: delay },
    fetch: (address, maxBytes) => fetch(address, '*/*', { signal, maxBytes }),
  })
  if (look.findings.length > 0) process.exitCode = 1
  if (state !== undefined && look.seen !== undefined) await writeSeen(state, look.seen)
  if (json) printJson(look)
  else printLook(look, seen === undefined)
}

export interface KeyLogKeyOptions extends DeploymentOptions {
  readonly json?: true
}

/** Implements `signet keys log key`. It works from the records, also while a signer is away. */
export const printKeyLogKey = async (options: KeyLogKeyOptions): Promise<void> => {
  const config = await readDeployment(options)
  const { publications, slots } = await readKnownKeys(config)
  const now = Date.now()
  const origin = originOf(config.issuer)
  const keys = expandSlots(config.keys, slots).flatMap((entry) => {
    const jwk = publications.get(entry.kid)?.jwk
    if (entry.alg !== 'EdDSA' || !entry.purposes.includes('audit') || jwk === undefined) return []
    const { publicKey } = checkPublicJwk(jwk, ['EdDSA'])
    const state = stateAt(lifetimeOf(config, entry), now)
    return [{ kid: entry.kid, state, key: formatNoteKey(noteKey(origin, publicKey)) }]
  })
  const signing = keys.find(({ state }) => state === 'active')
  if (signing === undefined)
    throw new CommandFailed('No key for EdDSA with the purpose audit signs yet: start the service with one first.')
  if (options.json) printJson(keys)
  else print(signing.key)
}
