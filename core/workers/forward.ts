import type { AdminDeclaration } from '../endpoints/admin/admin-endpoint.js'
import type { EndpointRequest, Handler } from '../endpoints/message.js'
import { jsonText } from '../endpoints/message.js'
import { Unavailable } from '../unavailable.js'
import { askWorker, type WorkerQuestion } from './ask-worker.js'
import type { WorkerPool } from './worker-pool.js'

const deadlineMs = 3000

const formType = 'application/x-www-form-urlencoded'

const question = (declaration: AdminDeclaration, request: EndpointRequest): WorkerQuestion => {
  const { path, form, query, body } = request
  const asked = declaration.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => path.get(name) ?? '')
  const search = new URLSearchParams([...query.values]).toString()
  const url = { path: search === '' ? asked : `${asked}?${search}`, method: declaration.methods[0] }
  if (declaration.body === 'none') return url
  const text =
    declaration.body === 'json' ? (body?.toString('utf8') ?? '') : new URLSearchParams([...form.values]).toString()
  return { ...url, body: { type: declaration.body === 'json' ? 'application/json' : formType, text } }
}

/**
 * Lets any worker answer, because all use the same stores. Repeated parameters are refused here, as the worker would
 * do.
 */
export const createForwarder =
  (pool: Pick<WorkerPool, 'sockets' | 'running'>) =>
  (declaration: AdminDeclaration): Handler =>
  async (request) => {
    const [worker] = pool.running()
    const socket = worker === undefined ? undefined : pool.sockets.get(worker)
    if (socket === undefined) throw new Unavailable('workers', 'no', 'No worker is running')
    const asked = askWorker(socket, question(declaration, request), AbortSignal.timeout(deadlineMs))
    const answer = await asked.catch((cause: unknown) => {
      throw new Unavailable('workers', 'unknown', 'the worker is not responding', { cause })
    })
    return jsonText(answer.status, answer.body)
  }
