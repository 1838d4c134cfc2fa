import { generateKeyPairSync, sign, verify } from 'node:crypto'
import { performance } from 'node:perf_hooks'

const [seconds = ''] = process.argv.slice(2)
const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const dsaEncoding = 'ieee-p1363'
const message = Buffer.alloc(300, 1)
const signature = sign('sha256', message, { key: privateKey, dsaEncoding })

/** Processor time per call in microseconds, over half of the time, after a warm-up. */
const micros = (work: () => unknown): number => {
  for (let index = 0; index < 500; index += 1) work()
  const begun = process.cpuUsage()
  const end = performance.now() + Number(seconds) * 500
  let count = 0
  for (; performance.now() < end; count += 1) work()
  const { user, system } = process.cpuUsage(begun)
  return (user + system) / count
}

const verifying = { key: publicKey, dsaEncoding } as const
const signing = { key: privateKey, dsaEncoding } as const
process.send?.([
  micros(() => verify('sha256', message, verifying, signature)),
  micros(() => sign('sha256', message, signing)),
])
