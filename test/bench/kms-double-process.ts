/** The KMS double in a process of its own, so that its signatures cost the caller nothing. Says its endpoint and keys. */
import { startKmsDouble } from '../support/kms-double/index.js'

const double = await startKmsDouble()
const { arn: ES256 } = await double.createKey('ECC_NIST_P256')
const { arn: RS256 } = await double.createKey('RSA_2048')
process.send?.({ endpoint: double.endpoint, refs: { ES256, RS256 } })
process.once('disconnect', () => void double[Symbol.asyncDispose]())
