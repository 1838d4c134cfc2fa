import { checkStorage, raceStorage } from 'signet-idp/testing'
import files from './files.js'

const [path, rounds] = process.argv.slice(2)

const report = await checkStorage({
  open: (clock) => files.open({ path: `${path}/rules` }, { clock, component: 'storage.records' }),
})
for (const { port, name, detail } of report.failures) console.error(`${port} ${name}: ${detail}`)

const races = await raceStorage({
  adapter: new URL('files.js', import.meta.url).href,
  options: { path: `${path}/races` },
  rounds: Number(rounds),
})
for (const [verb, { fair, doubles }] of Object.entries(races.scores))
  console.log(`${verb}: ${fair} fair rounds, ${doubles} doubles`)

console.log(`${report.cases - report.failures.length} of ${report.cases} rules of version ${report.contract}`)
process.exitCode = report.failures.length === 0 && races.fair ? 0 : 1
