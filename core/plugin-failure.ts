import { execFile } from 'node:child_process'
import { isAbsolute, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/** An error thrown by a deployer's module, for its author. */
export interface PluginFailure {
  /** The message and the location: `boom (loan.js:12:9)`. */
  readonly message: string
  readonly stack?: string
}

/** Describes `error`, thrown by the module in `file`. Never throws. */
export const describeFailure = async (error: unknown, file?: string): Promise<PluginFailure> => {
  if (!(error instanceof Error)) return { message: 'unknown error' }
  const { message, stack = '' } = error
  const place = findPlace(stack) ?? (file === undefined ? undefined : await findSyntaxError(message, file))
  return { message: place === undefined ? message : `${message} (${place})`, stack }
}

const shortest = (path: string): string => {
  const near = relative(process.cwd(), path)
  return near.startsWith('..') || isAbsolute(near) ? path : near
}

const toPath = (written: string): string => (written.startsWith('file:') ? fileURLToPath(written) : written)

interface Place {
  readonly path: string
  readonly rest: string
}

/** The folders of the product: `core`, `plugins`, `signers`, `stores`. */
const product = fileURLToPath(new URL('..', import.meta.url))

const isOurs = ({ path }: Place): boolean =>
  ['core', 'config', 'plugins', 'signers'].some((folder) => path.startsWith(join(product, folder, '/')))

/** The first stack line of the author's code: not of Node, the product or a package. */
const findPlace = (stack: string): string | undefined => {
  const place = [...stack.matchAll(/(?<=^|\(|at |async )(file:\/\/\/[^\s()]+?|\/[^\s()]+?):(\d+(?::\d+)?)\)?$/gm)]
    .map(([, written = '', rest = '']): Place => ({ path: toPath(written), rest }))
    .find((one) => !isOurs(one) && !one.path.includes('/node_modules/'))
  return place && `${shortest(place.path)}:${place.rest}`
}

/** Milliseconds. */
const parseBudgetMs = 5000

/** A module that cannot be parsed throws without a location; Node prints one when it only parses the file. */
const findSyntaxError = async (message: string, file: string): Promise<string | undefined> => {
  try {
    await promisify(execFile)(process.execPath, ['--check', file], { timeout: parseBudgetMs })
    return undefined
  } catch (error) {
    const { stderr = '' } = error as { readonly stderr?: string }
    const [, line, caret] = /:(\d+)\n.*\n( *)\^/.exec(stderr) ?? []
    // If the error differs from the reported one, it is in another file.
    if (line === undefined || caret === undefined || !stderr.includes(message)) return undefined
    return `${shortest(file)}:${line}:${String(caret.length + 1)}`
  }
}
