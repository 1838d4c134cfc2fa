import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, watch, type FSWatcher } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { readConfig } from '../../config/load.js'
import { demoConfigFile } from './deployment.js'
import { printError } from './output.js'
import { watchedVariable, type StartOptions } from './start.js'

/** In milliseconds. Editors write a file in several steps. */
const settleMs = 100

/**
 * Recognises what the service reads: configurations, secrets and code, and the link that Kubernetes replaces when a
 * ConfigMap or Secret changes. The files that it writes, its store and its logs, have other names.
 */
const isSource = (name: string): boolean => /\.(?:ya?ml|json|[cm]?js|pem)$|^\.\.data$/.test(name)

export interface WatchOptions extends StartOptions {
  readonly verbose?: true
}

/**
 * Implements `signet start --watch`, for development: a service that restarts when its configuration, or a plugin
 * next to it, changes. Resolves after a signal has stopped it.
 */
export const startWatched = async ({ config, port, verbose }: WatchOptions): Promise<void> => {
  const file = config ?? demoConfigFile
  const args = [
    ...(config === undefined ? [] : ['--config', config]),
    ...(port === undefined ? [] : ['--port', String(port)]),
    ...(verbose ? ['--verbose'] : []),
  ]
  const stopping = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stopping.abort(signal))
  const isStopping = (): boolean => stopping.signal.aborted
  while (!isStopping()) {
    using changes = watchFolders(await findFolders(file))
    const service = spawn(process.execPath, [process.argv[1] ?? '', 'start', ...args], {
      stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
      env: { ...process.env, [watchedVariable]: '1' },
    })
    const ended = once(service, 'exit')
    const stopped = once(stopping.signal, 'abort')
    const first = await Promise.race([changes.next, stopped.then(() => 'stop'), ended.then(() => 'end')])
    if (first === 'end' && !isStopping()) {
      printError('The service has ended. It starts again when a file changes.')
      await Promise.race([changes.next, stopped])
    }
    // A terminal also sends its signal to the service, which would exit at once at a second one.
    if (!(stopping.signal.reason === 'SIGINT' && process.stdin.isTTY)) service.kill('SIGTERM')
    await ended
    if (!isStopping()) printError('A file has changed: starting again.')
  }
}

/** Returns the folders of the configuration, of what it extends, and of its own plugins. Nothing else is read again. */
const findFolders = async (file: string): Promise<ReadonlySet<string>> => {
  const { sources, salvaged } = await readConfig(file, process.env)
  const uses = [...(salvaged.plugins ?? []), ...Object.values(salvaged.signers ?? {})].map((entry) => entry?.use ?? '')
  const own = uses.filter((use) => /^\.{1,2}\//.test(use)).map((use) => resolve(dirname(sources[0] ?? file), use))
  return new Set([...sources, ...own].map((path) => dirname(path)).filter((folder) => existsSync(folder)))
}

const watchFolders = (folders: ReadonlySet<string>): Disposable & { readonly next: Promise<void> } => {
  const watchers: FSWatcher[] = []
  const next = new Promise<void>((changed) => {
    let timer: NodeJS.Timeout | undefined
    for (const folder of folders) {
      const watcher = watch(folder, (_event, name) => {
        if (name === null || !isSource(name)) return
        clearTimeout(timer)
        timer = setTimeout(changed, settleMs)
      })
      watchers.push(watcher)
    }
  })
  return {
    next,
    [Symbol.dispose]: () => {
      for (const watcher of watchers) watcher.close()
    },
  }
}
