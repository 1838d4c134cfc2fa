import { jsonText } from '../endpoints/message.js'
import { forEachVerb, type HandoffHandlers } from '../endpoints/sign-in/handoff-answer.js'
import { Unavailable } from '../unavailable.js'
import { askWorker } from './ask-worker.js'
import type { WorkerPool } from './worker-pool.js'

const deadlineMs = 3000

/** `POST /interactions/{id}/{verb}` of the one admin listener: any worker can take the answer, the store is one for all. */
export const createWorkerHandoffs = (pool: Pick<WorkerPool, 'sockets' | 'running'>): HandoffHandlers =>
  forEachVerb((verb) => async ({ path, body }) => {
    const [worker] = pool.running()
    const socket = worker === undefined ? undefined : pool.sockets.get(worker)
    if (socket === undefined) throw new Unavailable('workers', 'no', 'No worker is running')
    const asked = `/interactions/${path.get('id') ?? ''}/${verb}`
    const answer = await askWorker(socket, asked, AbortSignal.timeout(deadlineMs), {
      type: 'application/json',
      text: body?.toString('utf8') ?? '',
    }).catch((cause: unknown) => {
      throw new Unavailable('workers', 'unknown', 'the worker is not responding', { cause })
    })
    return jsonText(answer.status, answer.body)
  })
