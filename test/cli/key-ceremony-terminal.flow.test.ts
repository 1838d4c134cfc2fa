/** A ceremony on a terminal: what people see and type there. */
import { existsSync } from 'node:fs'
import { expect, it } from 'vitest'
import { describeWith } from '../support/services/describe-with.js'
import { typeAtTerminal } from '../support/terminal.js'
import { ada, auditKey, grace, people, slot, useCeremonies } from '../support/server/key-ceremonies.js'

/** `script` gives the program a terminal of its own. */
describeWith('script', 'signet keys ceremony on a terminal', (script) => {
  const its = useCeremonies()

  const type = (out: string, answers: readonly (readonly [question: string, typed: string])[]) =>
    typeAtTerminal(script, its.cli.folder, `keys ceremony ceremony.yaml --config signet.yaml --out ${out}`, answers)

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
