#!/usr/bin/env node
import { existsSync } from 'node:fs'

// In a checkout the program is not there before it is built; npx would remember for good that there was none.
const main = new URL('../dist/core/main.js', import.meta.url)

if (existsSync(main)) {
  await import(main.href)
} else {
  process.stderr.write('Signet is not built yet: npm run build\n')
  process.exitCode = 1
}
