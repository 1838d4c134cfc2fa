import type { DoubledToken } from '../pkcs11-double/double.js'
import { openProvider } from './token.js'
import { never, newJournal } from './watched.js'

/** A service that opens a key, tells the process of its child, and asks for signatures until it is killed. */
const token = JSON.parse(process.argv[2] ?? '') as DoubledToken
const journal = newJournal()
const provider = await openProvider(token, { deadline_ms: 60_000, sessions: 32 }, journal)
const signer = await provider.open('pkcs11:object=key', 'ES256', never)
process.send?.(journal.pids[0])
const ask = async (): Promise<never> => {
  for (;;) await signer.sign(Buffer.from('a'), never)
}
await Promise.all(Array.from({ length: 256 }, ask))
