import { randomBytes } from 'node:crypto'
import type { Cluster, Redis } from 'ioredis'
import type { Clock } from '../../core/api/storage.js'
import { scriptsOf, swapText, type Scripts } from './scripts.js'

/**
 * What is known of the server's memory. An epoch begins when something may have been lost, and all our processes
 * share it: its name is in a marker among our keys, and in the text of the scripts that claim and redeem. A server
 * that was restarted or promoted does not know these scripts, whatever data it has; one that was emptied has no
 * marker, which the scripts check. A loss thus shows in the very call that would rely on the memory. In a cluster a
 * script cannot read the marker, which is in another slot, so the next ping detects it there.
 */
export interface Memory {
  readonly epoch: string
  /** When it began: milliseconds since the epoch. */
  readonly since: number
  /** The marker as it is stored. */
  readonly marker: string
  readonly scripts: Scripts
}

export interface MemoryPlace {
  readonly client: Redis | Cluster
  /** All nodes that are written to. */
  readonly nodes: readonly Redis[]
  readonly markerKey: string
  readonly clock: Clock
  /** When the latest epoch known to this process began. A server with an earlier one has missed what came after. */
  readonly known: number
}

const maxRounds = 5

const read = (marker: string): Memory | undefined => {
  const [since = '', epoch = ''] = marker.split(' ')
  if (!/^\d+$/.test(since) || !/^[\w-]+$/.test(epoch)) return undefined
  return { epoch, since: Number(since), marker, scripts: scriptsOf(marker) }
}

const isIntact = async ({ scripts }: Memory, nodes: readonly Redis[]): Promise<boolean> => {
  const shas = Object.values(scripts).map(({ sha }) => sha)
  const known = await Promise.all(nodes.map((node) => node.script('EXISTS', ...shas)))
  return known.flat().every((one) => one === 1)
}

/** Joins the epoch of the server, or starts one. Throws the client's errors. */
export const joinEpoch = async ({ client, nodes, markerKey, clock, known }: MemoryPlace): Promise<Memory> => {
  for (let round = 0; round < maxRounds; round += 1) {
    const marker = (await client.get(markerKey)) ?? ''
    const stored = read(marker)
    if (stored !== undefined && stored.since >= known && (await isIntact(stored, nodes))) return stored
    // Each time is unique, even after the clock was set back: comparing them must show that something happened.
    const since = Math.max(Math.ceil(clock()) + 1, (stored?.since ?? 0) + 1, known + 1)
    const epoch = randomBytes(8).toString('base64url')
    const next = `${String(since)} ${epoch}`
    const scripts = scriptsOf(next)
    const loads = nodes.flatMap((node) => Object.values(scripts).map(({ text }) => node.script('LOAD', text)))
    await Promise.all(loads)
    if ((await client.eval(swapText, 1, markerKey, marker, next, '0')) === 1)
      return { epoch, since, marker: next, scripts }
  }
  throw new Error('the marker of the epoch keeps changing')
}
