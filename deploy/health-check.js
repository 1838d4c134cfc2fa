import { readFileSync } from 'node:fs'

/**
 * Exit code 0 when the admin listener says yes, 1 otherwise: `node health-check.js live` or `ready`, for images without
 * curl. `SIGNET_ADMIN_URL` is where it listens, `SIGNET_ADMIN_TOKEN_FILE` the file that has `admin.token`.
 */
const [question = 'ready'] = process.argv.slice(2)
const { SIGNET_ADMIN_URL: admin = 'http://127.0.0.1:3001', SIGNET_ADMIN_TOKEN_FILE: tokenFile } = process.env

try {
  const headers =
    tokenFile === undefined ? {} : { Authorization: `Bearer ${readFileSync(tokenFile, 'utf8').trimEnd()}` }
  const reply = await fetch(`${admin}/health/${question}`, { headers, signal: AbortSignal.timeout(2000) })
  process.stdout.write(await reply.text())
  process.exitCode = reply.ok ? 0 : 1
} catch (error) {
  process.stdout.write(`${error instanceof Error ? error.message : 'no answer'}\n`)
  process.exitCode = 1
}
