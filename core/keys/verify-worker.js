import { createPublicKey, verify } from 'node:crypto'
import { parentPort } from 'node:worker_threads'

/**
 * Verifies what batch-verifier.ts sends: `bytes` holds message and signature of each job in turn, `ends` the end
 * offset of each, and `keys` the number of its key. The answer has one byte per job, 1 if the signature is valid.
 */
const known = new Map()

parentPort.on('message', ({ added, keys, ends, bytes }) => {
  for (const { id, jwk, digest, options } of added)
    known.set(id, { digest, input: { key: createPublicKey({ key: jwk, format: 'jwk' }), ...options } })
  const verdicts = new Uint8Array(keys.length)
  let start = 0
  for (let job = 0; job < keys.length; job++) {
    const middle = ends[2 * job]
    const end = ends[2 * job + 1]
    const { digest, input } = known.get(keys[job])
    if (verify(digest, bytes.subarray(start, middle), input, bytes.subarray(middle, end))) verdicts[job] = 1
    start = end
  }
  parentPort.postMessage(verdicts)
})
