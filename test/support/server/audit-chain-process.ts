import { openAudit } from '../../../core/observe/audit-file.js'

/** Writes `count` lines to the audit log `file`, one after the other, and goes without closing it. */
const [file = '', count = '0'] = process.argv.slice(2)
const audit = await openAudit({ issuer: 'https://issuer.example', audit: { file } }, Date.now)
process.send?.('open')
await new Promise((resolve) => process.once('message', resolve))
for (let index = 0; index < Number(count); index++) {
  // Some turns have one line, some have several.
  const events = Array.from({ length: (index % 3) + 1 }, (_, at) => ({ event: 'outage', index, at }) as const)
  await audit.record(...events)
}
process.disconnect()
