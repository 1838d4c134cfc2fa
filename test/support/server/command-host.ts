import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'

export interface CommandInput {
  /** Standard input; empty otherwise. */
  readonly input?: string
  readonly env?: NodeJS.ProcessEnv
}

export interface Outcome {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Those that read and change records, and leave nothing behind in their process. */
const groups = new Set([
  'accounts',
  'clients',
  'grants',
  'migrate',
  'people',
  'principals',
  'registrations',
  'sessions',
])

/** What came before `end`. Rejects when the process ends first. */
const readUntil = (end: string, stream: Readable): Promise<string> =>
  new Promise((resolve, reject) => {
    let text = ''
    const onData = (part: string) => {
      text += part
      if (!text.endsWith(end)) return
      stream.off('data', onData).off('close', onClose)
      resolve(text.slice(0, -end.length))
    }
    const onClose = () => reject(new Error(`The process ended during a command: ${text}`))
    stream.on('data', onData).on('close', onClose)
  })

/**
 * A process that runs many commands of the built program, one at a time: half of what a command takes is the start of Node and
 * the loading of modules, which hundreds of commands would pay hundreds of times.
 */
export const createCommandHost = (folder: string) => {
  let child: ChildProcessWithoutNullStreams | undefined
  let isBusy = false
  const open = async (): Promise<ChildProcessWithoutNullStreams> => {
    const file = fileURLToPath(new URL('command-host-process.js', import.meta.url))
    const opened = spawn(process.execPath, [file], {
      cwd: folder,
      stdio: ['pipe', 'pipe', 'pipe', 'ipc'],
    }) as ChildProcessWithoutNullStreams
    opened.stdout.setEncoding('utf8')
    opened.stderr.setEncoding('utf8')
    await once(opened, 'message')
    return opened
  }
  return {
    /** False while another command runs: two at once are two processes. */
    takes: ([group = '']: readonly string[]): boolean => !isBusy && groups.has(group),
    async run(args: readonly string[], { input = '', env = {} }: CommandInput): Promise<Outcome> {
      isBusy = true
      try {
        const { stdout, stderr } = (child ??= await open())
        const end = randomUUID()
        child.send({ args, input, env, end })
        const [printed, told] = await Promise.all([readUntil(end, stdout), readUntil(end, stderr)])
        const at = printed.lastIndexOf('\n')
        return { code: Number(printed.slice(at + 1)), stdout: printed.slice(0, at), stderr: told }
      } finally {
        isBusy = false
      }
    },
    async [Symbol.asyncDispose]() {
      if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
      child.kill('SIGKILL')
      await once(child, 'close')
    },
  }
}
