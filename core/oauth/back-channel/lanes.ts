/** What one host may cost: a slow one takes up its own lane, and no other. */
export interface LaneLimits {
  /** At work for one host at a time. */
  readonly atWork: number
  /** Waiting for one host that has something at work. */
  readonly waiting: number
  /** At work for all hosts. Half of it is kept for hosts that have nothing at work. */
  readonly inAll: number
  /** At work for all hosts that fail, one for each: a part of `inAll`. */
  readonly forFailing: number
}

type Work = () => Promise<void>

interface Lane {
  atWork: number
  readonly waiting: Map<string, Work>
}

/** Does work for hosts, a few at a time for each, in the order in which it came. */
export interface Lanes {
  /** False when there is no room: ask again later. True for an id that is here already. `work` handles its own errors. */
  offer(host: string, id: string, work: Work): boolean
  /** Nothing that waits begins any more; resolves when what is at work has ended. */
  close(): Promise<void>
}

/** `isFailing`: has the host failed lately? `ended` is called after each piece of work. */
export const createLanes = (limits: LaneLimits, isFailing: (host: string) => boolean, ended: () => void): Lanes => {
  const lanes = new Map<string, Lane>()
  const atWork = new Map<string, Promise<void>>()
  let forFailing = 0

  const hasPlace = ({ atWork: own }: Lane, failing: boolean): boolean => {
    if (failing) return own === 0 && forFailing < limits.forFailing && atWork.size < limits.inAll
    return own < limits.atWork && atWork.size < (own === 0 ? limits.inAll : limits.inAll / 2)
  }

  const begin = (host: string, lane: Lane): void => {
    const [next] = lane.waiting
    const failing = isFailing(host)
    if (next === undefined || !hasPlace(lane, failing)) return
    const [id, work] = next
    lane.waiting.delete(id)
    lane.atWork++
    if (failing) forFailing++
    const done = work().finally(() => {
      atWork.delete(id)
      lane.atWork--
      if (failing) forFailing--
      begin(host, lane)
      // Whatever waits without a place is offered again.
      if (lane.atWork === 0) lanes.delete(host)
      ended()
    })
    atWork.set(id, done)
  }

  return {
    offer(host, id, work) {
      const lane = lanes.get(host) ?? { atWork: 0, waiting: new Map<string, Work>() }
      if (atWork.has(id) || lane.waiting.has(id)) return true
      if (lane.waiting.size >= limits.waiting) return false
      lane.waiting.set(id, work)
      begin(host, lane)
      if (lane.atWork === 0) return false
      lanes.set(host, lane)
      return true
    },
    async close() {
      for (const { waiting } of lanes.values()) waiting.clear()
      await Promise.all(atWork.values())
    },
  }
}
