import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'

export interface CommandInput {
  /** Standard input; empty otherwise. */
  readonly input?: string
  readonly env?: NodeJS.ProcessEnv
  /** In a process of its own, which a user has too: for how it starts and ends, and for what Node reads of `env` when it starts. */
  readonly alone?: true
}

export interface Outcome {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

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

const open = async (): Promise<ChildProcessWithoutNullStreams> => {
  const file = fileURLToPath(new URL('command-host-process.js', import.meta.url))
  const opened = spawn(process.execPath, [file], {
    stdio: ['pipe', 'pipe', 'pipe', 'ipc'],
  }) as ChildProcessWithoutNullStreams
  opened.stdout.setEncoding('utf8')
  opened.stderr.setEncoding('utf8')
  await once(opened, 'message')
  // It must not hold up the end of the worker, at which it ends too.
  opened.unref()
  opened.channel?.unref()
  return opened
}

let host: Promise<ChildProcessWithoutNullStreams> | undefined
let isBusy = false

/** While one command runs: another at the same time is another process. */
export const isHostBusy = (): boolean => isBusy

/**
 * Runs a command of the built program in `folder`, in a process that runs one after another for all files of this worker and
 * ends with it: most of what a command takes is the start of Node and the loading of modules, which hundreds of commands
 * would pay hundreds of times.
 */
export const runInHost = async (
  folder: string,
  args: readonly string[],
  { input = '', env = {} }: CommandInput = {},
): Promise<Outcome> => {
  isBusy = true
  try {
    const child = await (host ??= open())
    const { stdout, stderr } = child
    const end = randomUUID()
    child.send({ folder, args, input, env: { ...process.env, ...env }, end })
    const [printed, told] = await Promise.all([readUntil(end, stdout), readUntil(end, stderr)])
    const at = printed.lastIndexOf('\n')
    return { code: Number(printed.slice(at + 1)), stdout: printed.slice(0, at), stderr: told }
  } catch (error) {
    host = undefined
    throw error
  } finally {
    isBusy = false
  }
}
