import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { join } from 'node:path'
import { once } from 'node:events'
import { packageRoot } from '../../../core/package-root.js'
import { nimbusVerifier } from '../../support/services/java-programs.js'
import { recipes } from '../../support/services/recipes.js'
import type { Evidence } from './rotation.js'

const run = async (command: string, args: readonly string[], evidence: Evidence): Promise<string> => {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  child.stdin.on('error', () => undefined)
  child.stdin.end(evidence.toString())
  const [output] = await Promise.all([text(child.stdout), once(child, 'close')])
  return output.trim()
}

/** How many of the tokens joserfc (Python) and Nimbus (Java) verify; each stops at the first one that it refuses. */
export const verifyElsewhere = async (evidence: Evidence): Promise<{ joserfc: number; nimbus: number }> => {
  const python = join(recipes.flask.folder, '.venv/bin/python')
  const { classPath } = nimbusVerifier
  return {
    joserfc: Number(await run(python, [join(packageRoot, 'test/keys/slots/judges.py')], evidence)),
    nimbus: Number(await run('java', ['-cp', classPath, 'VerifyTokens'], evidence)),
  }
}
