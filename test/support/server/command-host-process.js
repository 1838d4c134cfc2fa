import { Readable } from 'node:stream'
import { runCommandLine } from '../../../dist/core/cli/program.js'

// Runs one command after another in one process, which starts Node and loads the program once. What a command prints goes to
// the pipes as in a process of its own; `end` on both says that it is over.

const home = process.cwd()
const exit = process.exit.bind(process)
// A start that fails ends its process a second later.
process.exit = () => undefined
process.setMaxListeners(0)
process.on('message', async ({ folder, args, input, env, end }) => {
  process.chdir(folder)
  process.env = env
  Object.defineProperty(process, 'stdin', { value: Readable.from([Buffer.from(input)]), configurable: true })
  await runCommandLine(args)
  process.stdout.removeAllListeners('error')
  const code = process.exitCode ?? 0
  process.exitCode = undefined
  process.chdir(home)
  process.stderr.write(end, () => process.stdout.write(`\n${String(code)}${end}`))
})
process.on('disconnect', () => exit())
process.send('ready')
