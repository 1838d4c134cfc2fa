import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { CommandFailed } from './failure.js'

/** Reads the only line of standard input, for scripts. */
export const readPassword = async (): Promise<string> => {
  const [line = '', ...rest] = (await text(process.stdin)).split(/\r?\n/)
  if (rest.some((more) => more !== '')) throw new CommandFailed('Standard input holds more than one line.')
  return line
}

/** Asks twice on the terminal, without showing what is typed. */
export const askPassword = async (): Promise<string> => {
  if (!process.stdin.isTTY) throw new CommandFailed('There is no terminal for the prompt: use --password-stdin.')
  const [password = '', again] = await askSilently(['Password: ', 'Once more: '])
  if (again !== password) throw new CommandFailed('The two passwords differ.')
  return password
}

const askSilently = async (questions: readonly string[]): Promise<readonly string[]> => {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
  const lines = createInterface({ input: process.stdin, output: nowhere, terminal: true })
  const answers: string[] = []
  process.stderr.write(questions[0] ?? '')
  for await (const line of lines) {
    answers.push(line)
    process.stderr.write(`\n${questions[answers.length] ?? ''}`)
    if (answers.length === questions.length) return answers
  }
  process.stderr.write('\n')
  throw new CommandFailed('Cancelled.')
}
