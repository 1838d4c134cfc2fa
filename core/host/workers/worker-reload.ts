import type { Endpoint, Reply } from '../../endpoints/message.js'
import { json } from '../../endpoints/message.js'
import type { Log } from '../../observe/log.js'
import { Unavailable } from '../../unavailable.js'
import { readForce } from '../reload-endpoint.js'
import { askWorker, type WorkerAnswer } from './ask-worker.js'
import type { WorkerPool } from './worker-pool.js'

/** Milliseconds for one worker: keys may have to be opened. */
const deadlineMs = 25_000

/** Has every worker read the configuration anew, one after the other: what one refuses the next ones do not get. */
export type ReloadWorkers = (force: boolean) => Promise<WorkerAnswer>

export const createWorkerReload = (pool: Pick<WorkerPool, 'sockets' | 'running'>, log: Log): ReloadWorkers => {
  const ask = async (number: number, form: string): Promise<WorkerAnswer> => {
    try {
      return await askWorker(pool.sockets.get(number) ?? '', '/reload', AbortSignal.timeout(deadlineMs), form)
    } catch (cause) {
      throw new Unavailable(`workers.${String(number)}`, 'unknown', 'the worker does not answer', { cause })
    }
  }
  const reload = async (force: boolean): Promise<WorkerAnswer> => {
    const form = `force=${String(force)}`
    let answer: WorkerAnswer | undefined
    for (const number of pool.running()) {
      const next = await ask(number, form)
      if (next.status !== 200) {
        if (answer !== undefined) log.error('Workers have different configurations', { worker: number })
        return next
      }
      answer = next
    }
    if (answer === undefined) throw new Unavailable('workers', 'no', 'no worker runs')
    return answer
  }
  let last: Promise<unknown> = Promise.resolve()
  return (force) => {
    const result = last.then(() => reload(force))
    last = result.catch(() => undefined)
    return result
  }
}

/** `POST /reload`, as a worker answers it. */
export const createWorkerReloadEndpoint =
  (reload: ReloadWorkers): Endpoint =>
  async (request): Promise<Reply> => {
    const { status, body } = await reload(readForce(request))
    return { ...json(status, undefined), body }
  }
