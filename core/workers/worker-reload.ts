import { formatProblem, type Problem } from '../../config/problems.js'
import type { Log } from '../observe/log.js'
import { Unavailable } from '../unavailable.js'
import type { ReloadRequest } from '../endpoints/admin/reload.js'
import { writeActedBy } from '../observe/acted-by.js'
import { askWorker, reloadDeadlines, type WorkerAnswer } from './ask-worker.js'
import type { WorkerPool } from './worker-pool.js'

/**
 * Makes every worker reload the configuration: first one, then, if it accepts, the others together. A configuration
 * that the first refuses is not sent to the others. Throws `Unavailable` when the first does not answer.
 */
export type ReloadWorkers = (request: ReloadRequest) => Promise<WorkerAnswer>

const formType = 'application/x-www-form-urlencoded'

interface Outcome extends WorkerAnswer {
  readonly worker: number
}

interface ReloadBody {
  readonly status?: string
  readonly problems?: readonly Problem[]
  readonly error_description?: string
}

/** `differ` is called when workers start to have different configurations, and when a reload has ended that. */
export const createWorkerReload = (
  pool: Pick<WorkerPool, 'sockets' | 'running' | 'resume' | 'reopenAudit'>,
  log: Log,
  differ: (difference: string | undefined) => void,
): ReloadWorkers => {
  const ask = async (worker: number, form: string): Promise<Outcome> => {
    const socket = pool.sockets.get(worker) ?? ''
    try {
      return {
        worker,
        ...(await askWorker(
          socket,
          { path: '/reload', body: { type: formType, text: form } },
          AbortSignal.timeout(reloadDeadlines.worker),
        )),
      }
    } catch (cause) {
      differ(`worker ${worker} did not answer a reload`)
      throw new Unavailable(`workers.${String(worker)}`, 'unknown', 'the worker is not responding', { cause })
    }
  }
  const askOther = (worker: number, form: string): Promise<Outcome> =>
    ask(worker, form).catch(({ message }: Error) => ({
      worker,
      status: 503,
      body: JSON.stringify({ error_description: message }),
    }))

  const answerPartial = (outcomes: readonly Outcome[]): WorkerAnswer => {
    const failed = outcomes.filter(({ status }) => status !== 200)
    const reloaded = outcomes.filter(({ status }) => status === 200).map(({ worker }) => worker)
    const not_reloaded = failed.map(({ worker }) => worker)
    const refused = failed.flatMap(({ worker, status, body }): readonly Problem[] => {
      const { problems, error_description } = readBody(body)
      return problems ?? [{ path: `workers.${worker}`, message: error_description ?? `answered with ${status}` }]
    })
    const problems = [...new Map(refused.map((problem) => [formatProblem(problem), problem])).values()]
    log.error('Workers have different configurations', { reloaded, not_reloaded })
    differ(`${reloaded.length} of ${outcomes.length} have the new configuration`)
    return { status: 409, body: JSON.stringify({ status: 'partial', reloaded, not_reloaded, problems }) }
  }

  const reload = async ({ force, by }: ReloadRequest): Promise<WorkerAnswer> => {
    const form = new URLSearchParams({ force: String(force), ...writeActedBy(by) }).toString()
    // All of them do so, even when the first refuses the configuration.
    pool.reopenAudit()
    const [first, ...others] = pool.running()
    if (first === undefined) {
      void pool.resume()
      throw new Unavailable(
        'workers',
        'no',
        'no worker is running; those that refused the configuration are being restarted',
      )
    }
    const leading = await ask(first, form)
    if (leading.status !== 200) return leading
    const outcomes = [leading, ...(await Promise.all(others.map((worker) => askOther(worker, form))))]
    if (outcomes.some(({ status }) => status !== 200)) return answerPartial(outcomes)
    differ(undefined)
    // The log and readiness show the result.
    void pool.resume()
    // A worker started after the file was written already has it.
    return outcomes.find(({ body }) => readBody(body).status === 'reloaded') ?? leading
  }
  let last: Promise<unknown> = Promise.resolve()
  return (request) => {
    const result = last.then(() => reload(request))
    last = result.catch(() => undefined)
    return result
  }
}

const readBody = (body: string): ReloadBody => {
  try {
    return JSON.parse(body) as ReloadBody
  } catch {
    return {}
  }
}
