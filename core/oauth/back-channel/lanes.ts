/** Limits per host. A slow host fills its own lane, and no other. */
export interface LaneLimits {
  /** Concurrent jobs for one host. */
  readonly atWork: number
  /** Waiting jobs for one host that has jobs running. */
  readonly waiting: number
  /** Concurrent jobs for all hosts. Half is reserved for hosts with nothing running. */
  readonly inAll: number
  /** Concurrent jobs for all failing hosts, one each: a part of `inAll`. */
  readonly forFailing: number
}

type Work = () => Promise<void>

interface Lane {
  atWork: number
  readonly waiting: Map<string, Work>
}

/** Runs jobs for hosts in the order of arrival, a few at a time for each. */
export interface Lanes {
  /**
   * Returns false when there is no space: try again later. True for an id that is here already. `work` handles its
   * own errors.
   */
  offer(host: string, id: string, work: Work): boolean
  /** Starts no more waiting jobs; resolves when the running ones have ended. */
  close(): Promise<void>
}

/** `isFailing`: whether the host failed recently. `ended` is called after each job. */
export const createLanes = (limits: LaneLimits, isFailing: (host: string) => boolean, ended: () => void): Lanes => {
  const lanes = new Map<string, Lane>()
  const atWork = new Map<string, Promise<void>>()
  let forFailing = 0

  const hasCapacity = ({ atWork: own }: Lane, failing: boolean): boolean => {
    if (failing) return own === 0 && forFailing < limits.forFailing && atWork.size < limits.inAll
    return own < limits.atWork && atWork.size < (own === 0 ? limits.inAll : limits.inAll / 2)
  }

  const begin = (host: string, lane: Lane): void => {
    const [next] = lane.waiting
    const failing = isFailing(host)
    if (next === undefined || !hasCapacity(lane, failing)) return
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
