import { openSync, readSync } from 'node:fs'
import { PerformanceObserver } from 'node:perf_hooks'

// Loaded into the process of the service before it: records how long each turn of its event loop delayed others. A
// turn is late because of its own computation, or because it waited for a processor in use by other processes; Linux
// distinguishes the two.

const everyMs = 1
const statistics = openSync('/proc/thread-self/schedstat', 'r')
const buffer = Buffer.alloc(64)

/** Milliseconds that this thread has run so far. */
const readThread = () => {
  // Updates the counters of the running thread.
  process.cpuUsage()
  const text = buffer.latin1Slice(0, readSync(statistics, buffer, 0, buffer.length, 0))
  return { at: performance.now(), ran: Number.parseInt(text, 10) / 1e6 }
}

/** Space for the turns of an hour. Lists of objects would be work for the garbage collector that is measured here. */
const most = 3_600_000
const late = new Float32Array(most)
const ran = new Float32Array(most)
let count = 0
let collections = []
let last = readThread()

setInterval(() => {
  const now = readThread()
  late[count] = now.at - last.at - everyMs
  ran[count] = now.ran - last.ran
  last = now
  if (count < most - 1) count += 1
}, everyMs).unref()

new PerformanceObserver((list) => {
  for (const { duration } of list.getEntries()) collections.push(duration)
}).observe({ entryTypes: ['gc'] })

process.on('message', () => {
  process.send({ late: late.slice(0, count), ran: ran.slice(0, count), collections })
  count = 0
  collections = []
  // Sending must not be measured.
  last = readThread()
})
process.channel.unref()
