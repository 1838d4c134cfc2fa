import { openAudit } from '../../../core/observe/audit-file.js'
import { createLogger } from '../../../core/observe/logger.js'

/** Prints `count` lines of the audit log and of the log, as a service does, and goes. */
const count = Number(process.argv[2])
const log = createLogger({ level: 'info', pretty: false })
await using audit = await openAudit({ issuer: 'https://issuer.example', audit: 'stdout' }, Date.now)
for (let index = 0; index < count; index++) {
  await audit.record({ event: 'outage', index })
  log.info('request', { index })
}
