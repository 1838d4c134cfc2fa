#!/usr/bin/env node
import { existsSync, readFileSync } from 'node:fs'

// In a checkout the program is not there before it is built; npx would remember for good that there was none.
const main = new URL('../dist/core/main.js', import.meta.url)
const { engines } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
const [major, minor] = process.versions.node.split('.').map(Number)
const [leastMajor, leastMinor] = engines.node.replace('>=', '').split('.').map(Number)

if (major < leastMajor || (major === leastMajor && minor < leastMinor)) {
  // Modules of the program would fail with a stack trace.
  process.stderr.write(`Signet needs Node ${leastMajor}.${leastMinor} or later; this is ${process.versions.node}.\n`)
  process.exitCode = 1
} else if (existsSync(main)) {
  await import(main.href)
} else {
  process.stderr.write('Signet is not built yet: npm run build\n')
  process.exitCode = 1
}
