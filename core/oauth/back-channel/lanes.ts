/** What one host may cost: a slow one takes up its own lane, and no other. */
export interface LaneLimits {
  /** At work for one host at a time. */
  readonly atWork: number
  /** Waiting for one host. */
  readonly waiting: number
  /** Waiting or at work for all hosts. */
  readonly inAll: number
}

interface Lane {
  atWork: number
  readonly waiting: (() => Promise<void>)[]
}

/** Does work for hosts, a few at a time for each, in the order in which it came. */
export interface Lanes {
  /** False when there is no room: ask again later. `work` handles its own errors. */
  offer(host: string, work: () => Promise<void>): boolean
  /** Nothing that waits begins any more; resolves when what is at work has ended. */
  close(): Promise<void>
}

/** `ended` is called after each piece of work. */
export const createLanes = (limits: LaneLimits, ended: () => void): Lanes => {
  const lanes = new Map<string, Lane>()
  const atWork = new Set<Promise<void>>()
  let inAll = 0

  const begin = (host: string, lane: Lane): void => {
    const work = lane.atWork < limits.atWork ? lane.waiting.shift() : undefined
    if (work === undefined) return
    lane.atWork++
    const done = work().finally(() => {
      atWork.delete(done)
      lane.atWork--
      inAll--
      begin(host, lane)
      if (lane.atWork === 0) lanes.delete(host)
      ended()
    })
    atWork.add(done)
  }

  return {
    offer(host, work) {
      const lane = lanes.get(host) ?? { atWork: 0, waiting: [] }
      if (inAll >= limits.inAll || lane.waiting.length >= limits.waiting) return false
      lanes.set(host, lane)
      lane.waiting.push(work)
      inAll++
      begin(host, lane)
      return true
    },
    async close() {
      for (const { waiting } of lanes.values()) inAll -= waiting.splice(0).length
      await Promise.all(atWork)
    },
  }
}
