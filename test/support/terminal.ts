import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { packageRoot } from '../../core/package-root.js'

/**
 * Runs a command of Signet at a terminal of `script`, and types each answer when its question is there. Returns all
 * that the terminal showed.
 */
export const typeAtTerminal = async (
  script: string,
  cwd: string,
  command: string,
  answers: readonly (readonly [question: string, typed: string])[],
): Promise<{ readonly code: number | null; readonly shown: string }> => {
  const main = join(packageRoot, 'dist', 'core', 'main.js')
  const child = spawn(script, ['-qec', `'${process.execPath}' '${main}' ${command}`, '/dev/null'], { cwd })
  const closed = once(child, 'close')
  let shown = ''
  const waiting = [...answers]
  child.stdout.on('data', (chunk: Buffer) => {
    shown += chunk.toString()
    const [question, typed] = waiting[0] ?? []
    if (question === undefined || !shown.includes(question)) return
    waiting.shift()
    child.stdin.write(typed)
  })
  await closed
  return { code: child.exitCode, shown }
}
