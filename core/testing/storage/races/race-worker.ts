import { openModule } from './open-module.js'
import { runRaces } from './race-runner.js'
import { storageVerbs } from './verbs.js'

const [adapter = '', options = '', index] = process.argv.slice(2)
runRaces(await openModule(adapter, JSON.parse(options)), storageVerbs, Number(index))
