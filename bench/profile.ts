import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import Table from 'cli-table3'

/** The output of V8's --cpu-prof. */
interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number
    readonly callFrame: { readonly functionName: string; readonly url: string }
    readonly children?: readonly number[]
  }[]
  readonly samples: readonly number[]
  readonly timeDeltas: readonly number[]
}

type Node = CpuProfile['nodes'][number]

/** The file of ours, the package, or the part of Node that a frame belongs to. */
const place = ({ callFrame: { url, functionName } }: Node): string =>
  /\/dist\/(.+)\.js$/.exec(url)?.[1] ??
  /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ??
  (url.startsWith('node:') ? url : functionName)

const waiting = new Set(['(idle)', '(root)'])

/** Enough to show what matters. */
const rows = 32

/**
 * Shares of the main thread's time by place, by itself and with what it calls, in the last `seconds` of the process.
 */
export const profileTable = (directory: string, seconds: number): string => {
  const [file] = readdirSync(directory).filter((name) => name.endsWith('.cpuprofile'))
  if (file === undefined) throw new Error(`No profile in ${directory}`)
  const profile = JSON.parse(readFileSync(join(directory, file), 'utf8')) as CpuProfile
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]))
  const parents = new Map(profile.nodes.flatMap((node) => (node.children ?? []).map((child) => [child, node.id])))

  const places = (id: number): readonly string[] => {
    const found: string[] = []
    for (let at: number | undefined = id; at !== undefined; at = parents.get(at)) {
      const node = nodes.get(at)
      if (node !== undefined) found.push(place(node))
    }
    return found
  }
  const chains = new Map(profile.nodes.map((node) => [node.id, places(node.id)]))

  const alone = new Map<string, number>()
  const within = new Map<string, number>()
  let total = 0
  let toEnd = profile.timeDeltas.reduce((sum, time) => sum + time, 0)
  profile.samples.forEach((id, index) => {
    const chain = chains.get(id) ?? []
    const [own = ''] = chain
    const time = profile.timeDeltas[index] ?? 0
    toEnd -= time
    if (waiting.has(own) || toEnd > seconds * 1e6) return
    total += time
    alone.set(own, (alone.get(own) ?? 0) + time)
    for (const name of new Set(chain)) within.set(name, (within.get(name) ?? 0) + time)
  })

  const percent = (time: number): string => ((time / total) * 100).toFixed(1)
  const table = new Table({
    head: ['place', 'alone %', 'with what it calls %'],
    colAligns: ['left', 'right', 'right'],
    style: { head: [], border: [], compact: true },
  })
  const largest = [...alone].sort((a, b) => b[1] - a[1])
  for (const [name, time] of largest.slice(0, rows)) table.push([name, percent(time), percent(within.get(name) ?? 0)])
  return table.toString()
}
