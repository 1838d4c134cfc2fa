/** Logs every spelling of a secret and ends at once: `node --import tsx logger-process.ts json|pretty|flush|full`. */
import { createLogger } from '../../../core/observe/logger.js'

const canary = 'canary-5e1f'
const jwt = `eyJhbGciOiJFUzI1NiJ9.${canary}.${canary}`
const log = createLogger({ level: 'info', pretty: process.argv[2] === 'pretty' })

log.debug('not logged', { visible: canary })
log.info('started', { port: 3000 })
log.info('flat', { authorization: canary, cookie: canary, code: canary, user_code: canary, pin: canary, ok: 'seen' })
log.info('spellings', { 'Set-Cookie': canary, Client_Secret: canary, 'CODE-VERIFIER': canary, DPoP: canary })
log.warn('deep', {
  request_headers: { authorization: canary, list: [{ access_token: canary }, [{ refresh_token: canary }]] },
  jwk: { kty: 'EC', crv: 'P-256', x: 'public', d: canary, p: canary, q: canary, k: canary },
  body: { client_assertion: { nested: canary }, password: [canary], id_token: null, assertion: 1 },
})
log.info('by form', { note: `Bearer ${canary}`, other: jwt, url: `mongodb://user:${canary}@db.example/x` })
const cause = new Error(`refused: Authorization: Basic ${canary}`, { cause: new Error(`token ${jwt}`) })
log.error('failed', { request_id: 'r1' }, Object.assign(cause, { config: { password: canary }, code: 'ECONNREFUSED' }))
log.error('thrown', {}, canary)
if (process.argv[2] === 'flush') {
  await log.flush()
  process.kill(process.pid, 'SIGKILL')
}
if (process.argv[2] === 'full') {
  await log.flush()
  log.info('after a failure', { port: 3000 })
  await log.flush()
}
process.exit(0)
