import { runCommandLine } from './cli/program.js'

await runCommandLine(process.argv.slice(2))

// Handles that a module left open must not keep a finished process alive. Output is flushed first.
process.stdout.write('', () => process.exit())
