import { checkSigner } from 'signet-idp/testing'
import files from './encrypted-files.js'

const [directory = '', passphrase = ''] = process.argv.slice(2)

const provider = await files.create({ directory, passphrase }, { clock: Date.now, log: console })
const report = await checkSigner({
  provider,
  algs: ['ES256', 'RS256'],
  ref: (alg) => (alg === 'ES256' ? 'es-1' : 'rs-1'),
})
await provider[Symbol.asyncDispose]()

for (const { alg = 'all', name, detail } of report.failures) console.error(`${alg} ${name}: ${detail}`)
console.log(`${report.cases - report.failures.length} of ${report.cases} rules`)
process.exitCode = report.failures.length === 0 ? 0 : 1
