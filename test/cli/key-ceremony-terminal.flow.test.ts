/** A ceremony on a terminal: what people see and type there. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { packageRoot } from '../../core/package-root.js'
import { describeWith } from '../support/services/describe-with.js'
import { ada, auditKey, grace, people, slot, useCeremonies } from '../support/server/key-ceremonies.js'

/** `script` gives the program a terminal of its own. */
describeWith('script', 'signet keys ceremony on a terminal', (script) => {
  const its = useCeremonies()

  /** Types each line when its question is there. Returns all that the terminal showed. */
  const type = async (out: string, answers: readonly (readonly [question: string, typed: string])[]) => {
    const main = join(packageRoot, 'dist', 'core', 'main.js')
    const command = `'${process.execPath}' '${main}' keys ceremony ceremony.yaml --config signet.yaml --out ${out}`
    const child = spawn(script, ['-qec', command, '/dev/null'], { cwd: its.cli.folder })
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

  it('shows what is typed, asks again, and makes the key; Ctrl+C and Ctrl+D make none', async () => {
    await its.deploy([auditKey, slot])
    await its.cli.write('ceremony.yaml', `signer: local\nslot: es\n${people}`)
    for (const ending of ['\u0003', '\u0004']) {
      const ended = await type('ended', [[`${ada}, security officer: `, ending]])
      expect(ended).toEqual({ code: 1, shown: expect.stringContaining('no key was made') })
      expect(existsSync(its.inFolder('ended'))).toBe(false)
    }
    expect(its.localKeys()).toEqual(['au-1'])
    const held = await type('es-1', [
      [`${ada}, security officer: `, `${ada}\r`],
      [`${grace}, witness: `, 'Grace\r'],
      [`That is another name. ${grace}: `, `${grace}\r`],
    ])
    expect(held).toEqual({ code: 0, shown: expect.stringContaining('10 of 10 verified with the public key') })
    expect(its.localKeys()).toEqual(['au-1', 'signet-es-1'])
  })
})
