/** Which worker proves the keys for all workers of its host. */
import type { Worker } from 'node:cluster'
import { EventEmitter } from 'node:events'
import { expect, it } from 'vitest'
import { createProbeLead } from '../../core/workers/probe-lead.js'

class FakeWorker extends EventEmitter {
  readonly sent: unknown[] = []
  connected = true
  isConnected = () => this.connected
  send = (message: unknown) => this.sent.push(message)
}
const proofs = [{ kid: 'a', thumbprint: 't', outcome: 'passed' }]

const open = () => {
  const lead = createProbeLead()
  const workers = [1, 3, 2].map((number) => {
    const worker = new FakeWorker()
    lead.started(number, worker as unknown as Worker)
    return worker
  })
  const [first, third, second] = workers
  return { lead, workers: [first, second, third] as [FakeWorker, FakeWorker, FakeWorker] }
}

it('the first that serves leads, and the others hear what it finds', () => {
  const { workers } = open()
  expect(workers.map(({ sent }) => sent)).toEqual([['lead_probes'], [], []])
  workers[0].emit('message', { proofs })
  expect(workers.map(({ sent }) => sent)).toEqual([['lead_probes'], [{ proofs }], [{ proofs }]])
})

it('nobody hears what another one finds, or what is no proof', () => {
  const { workers } = open()
  workers[1].emit('message', { proofs })
  workers[0].emit('message', { listening: { public: 'http://127.0.0.1' } })
  expect(workers.map(({ sent }) => sent)).toEqual([['lead_probes'], [], []])
})

it('when it ends, another one leads at once; its successor does not', () => {
  const { lead, workers } = open()
  workers[0].connected = false
  lead.ended(1)
  expect(workers[1].sent).toEqual(['lead_probes'])
  const successor = new FakeWorker()
  lead.started(1, successor as unknown as Worker)
  workers[1].emit('message', { proofs })
  expect([successor.sent, workers[2].sent]).toEqual([[{ proofs }], [{ proofs }]])
})

it('after all have ended, the first that serves again leads', () => {
  const { lead } = open()
  for (const number of [1, 2, 3]) lead.ended(number)
  const again = new FakeWorker()
  lead.started(2, again as unknown as Worker)
  expect(again.sent).toEqual(['lead_probes'])
})
