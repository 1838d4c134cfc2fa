import { openEmbedded } from '../../../stores/embedded/open-embedded.js'

// Consumes what the test prepared and reports each consumption when it is resolved, until it is done or killed.

const [path = '', count = '0', name = ''] = process.argv.slice(2)
const backend = await openEmbedded({ path, clock: Date.now })
const codes = backend.oneTime('codes')
const families = backend.refreshFamilies('families')
const claims = backend.replayGuard('claims')
const records = backend.records('records')

/** What the test reads had been resolved. */
const report = (verb: string, index: number) => process.stdout.write(`${verb} ${index}\n`)

const consume = async (index: number) => {
  const id = String(index)
  const successor = { hash: name, salt: name }
  await Promise.all([
    codes.redeem(id).then(({ outcome }) => outcome === 'won' && report('redeemed', index)),
    claims.claim('client', id, 3600).then((won) => won && report('claimed', index)),
    records.put(id, name, { onlyIfAbsent: true }).then((won) => won && report('put', index)),
    families
      .rotate(id, { presented: 'first', successor, idleTtlSeconds: 3600 })
      .then(({ outcome }) => outcome === 'won' && report('rotated', index)),
  ])
}

let next = 0
const line = async () => {
  while (next < Number(count)) await consume(next++)
}
await Promise.all(Array.from({ length: 8 }, line))
await backend[Symbol.asyncDispose]()
