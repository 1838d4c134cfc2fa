/**
 * The KMS double in a separate process, so that its signatures cost the caller nothing. Prints its endpoint. With the
 * argument `slow`, a signature takes 0.9 to 1.5 s, varied so that callers do not become synchronised.
 */
import { startKmsDouble } from '../core/testing/kms-double/index.js'

const double = await startKmsDouble()
if (process.argv[2] === 'slow') {
  for (const [latency, rate] of [
    [1500, 1 / 4],
    [1300, 1 / 3],
    [1100, 1 / 2],
    [900, 1],
  ] as const)
    double.fail({ action: 'Sign', fault: { latency }, rate })
}
process.send?.(double.endpoint)
process.once('disconnect', () => void double[Symbol.asyncDispose]())
