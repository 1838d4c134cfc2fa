import { runCommandLine } from './cli/program.js'

await runCommandLine(process.argv.slice(2))

// Whatever a module left open must not keep a process that is done; what was printed goes out first.
process.stdout.write('', () => process.exit())
