import { openEmbedded } from '../../../core/storage/embedded/open-embedded.js'
import { breakBackend } from './broken-backend.js'
import { primitives, type Outcome, type PrimitiveName } from './primitives.js'

// One process of a race: opens the store, then does once what it is told, as soon as it is told.

export interface Go {
  readonly primitive: PrimitiveName
  readonly id: string
}

export type Report = 'ready' | Outcome

const [path = '', kind, process_] = process.argv.slice(2)
const number = Number(process_)
const sound = await openEmbedded({ path, clock: Date.now })
const backend = kind === 'broken' ? breakBackend(sound) : sound

const report = (message: Report) => process.send?.(message)

process.on('message', ({ primitive, id }: Go) => {
  primitives[primitive].attempt(backend, id, number).then(report, (error: unknown) => {
    console.error(error)
    report('fault')
  })
})
process.on('disconnect', () => void sound[Symbol.asyncDispose]())
report('ready')
