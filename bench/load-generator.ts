import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { performance } from 'node:perf_hooks'
import { ofAnswer, type Job, type Measured } from './load.js'

/**
 * A closed loop of HTTP/1.1 over keep-alive connections: each sends its next request when it has its whole answer.
 * Requests are prepared bytes and answers are parsed as little as correctness allows, so that this process, on its
 * own core, is never the bottleneck (`busy` shows how close it came).
 */
const headerEnd = Buffer.from('\r\n\r\n')

/** Milliseconds: ten times the product's deadline for a request. */
const silenceMs = 30_000

interface Answer {
  readonly status: number
  readonly head: string
  readonly body: Buffer
  readonly length: number
}

/** The first complete answer in `data`, or undefined if more is needed. */
const findAnswer = (data: Buffer): Answer | undefined => {
  const end = data.indexOf(headerEnd)
  if (end < 0) return undefined
  const head = data.toString('latin1', 0, end)
  const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1]
  if (length === undefined) throw new Error(`An answer without Content-Length:\n${head}`)
  const total = end + 4 + Number(length)
  if (data.length < total) return undefined
  return { status: Number(head.slice(9, 12)), head, body: data.subarray(end + 4, total), length: total }
}

/** CPU seconds of a process and its threads, user and system (proc(5), fields 14 and 15, in ticks of 10 ms). */
const cpuSeconds = (pid: number): number => {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / 100
}

const percentile = (sorted: Float64Array, share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0

/** The name and value that the next request of a journey takes from this answer. Undefined if it cannot continue. */
const findLead = ({ status, head, body }: Answer): readonly [string, string] | undefined => {
  const uri = status === 201 ? /"request_uri":"([^"]+)"/.exec(body.toString())?.[1] : undefined
  if (uri !== undefined) return [ofAnswer.requestUri, uri]
  const code = /\r\nlocation: [^\r]*[?&]code=([^&\r]+)/i.exec(head)?.[1]
  return code === undefined ? undefined : [ofAnswer.code, code]
}

/** The next request, with the value of the previous answer filled in and its length adjusted. */
const leadOn = (step: Buffer, [name, value]: readonly [string, string]): Buffer => {
  const [head = '', body = ''] = step
    .toString('latin1')
    .split('\r\n\r\n')
    .map((part) => part.replace(name, value))
  return Buffer.from(`${head.replace(/Content-Length: \d+/, `Content-Length: ${String(body.length)}`)}\r\n\r\n${body}`)
}

const run = async (job: Job): Promise<Measured> => {
  const requests = job.requests.map((request) => [request].flat().map((step) => Buffer.from(step, 'latin1')))
  const collected: string[] = []
  const latencies: number[] = []
  let next = 0
  let refused = 0
  let firstRefusal: string | undefined
  let recording = false
  const deadline = { warm: performance.now() + job.warmMs, end: Infinity }
  let begun = { time: 0, cpu: 0, own: process.cpuUsage() }
  const begin = () => {
    recording = true
    begun = { time: performance.now(), cpu: cpuSeconds(job.pid), own: process.cpuUsage() }
    deadline.end = begun.time + job.measureMs
  }
  if (job.warmMs === 0) begin()

  let taken = -1
  const take = (): readonly Buffer[] | undefined => {
    const now = performance.now()
    if (!recording && now >= deadline.warm) begin()
    if (now >= deadline.end) return undefined
    taken = next++
    return requests[job.repeat ? taken % requests.length : taken]
  }

  const note = (answer: Answer, sentAt: number, index: number): void => {
    if (recording) latencies.push(performance.now() - sentAt)
    if (answer.status !== 200) {
      refused += 1
      firstRefusal ??= `${answer.status} ${answer.head} ${answer.body.toString()}`
    } else if (job.collect !== undefined) {
      const value = (JSON.parse(answer.body.toString()) as Record<string, unknown>)[job.collect]
      if (typeof value === 'string') collected[index] = value
    }
  }

  const connection = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const socket: Socket = connect({ host: '127.0.0.1', port: job.port, noDelay: true })
      // A request without an answer would silently stall the whole run.
      socket.setTimeout(silenceMs, () => {
        const asked = requests[index]?.[0]?.toString('latin1').split('\r\n', 1)[0] ?? 'the connection'
        reject(
          new Error(
            `No answer for ${String(silenceMs / 1000)} s to request ${String(index)} of ${String(requests.length)}: ${asked}`,
          ),
        )
        socket.destroy()
      })
      let pending: Buffer | undefined
      let sentAt = 0
      let index = -1
      let left: readonly Buffer[] = []
      const send = () => {
        const [request, ...others] = take() ?? []
        if (request === undefined) {
          socket.end()
          resolve()
          return
        }
        index = taken
        left = others
        sentAt = performance.now()
        socket.write(request)
      }
      socket.on('connect', send)
      socket.on('data', (chunk) => {
        const data = pending === undefined ? chunk : Buffer.concat([pending, chunk])
        const answer = findAnswer(data)
        if (answer === undefined) {
          pending = data
          return
        }
        pending = answer.length < data.length ? data.subarray(answer.length) : undefined
        const [step, ...others] = left
        const lead = step && findLead(answer)
        if (step !== undefined && lead !== undefined) {
          left = others
          socket.write(leadOn(step, lead))
          return
        }
        note(answer, sentAt, index)
        send()
      })
      socket.on('error', reject)
      socket.on('close', () => reject(new Error('The server closed a connection that was in use')))
    })

  await Promise.all(Array.from({ length: job.connections }, connection))

  const seconds = (performance.now() - begun.time) / 1000
  const own = process.cpuUsage(begun.own)
  const sorted = Float64Array.from(latencies).sort()
  return {
    count: sorted.length,
    refused,
    firstRefusal,
    seconds,
    p50: percentile(sorted, 0.5),
    p99: percentile(sorted, 0.99),
    cpuSeconds: cpuSeconds(job.pid) - begun.cpu,
    busy: (own.user + own.system) / 1e6 / seconds,
    collected,
  }
}

process.on('message', (job: Job) => {
  run(job).then(
    (measured) => process.send?.({ measured }),
    (error: unknown) => process.send?.({ error: String(error) }),
  )
})
process.send?.('ready')
