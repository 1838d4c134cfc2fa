import { execFile } from 'node:child_process'
import { copyFileSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { packageRoot } from '../../core/package-root.js'

/** The text of a document of this package: `docs/plugins.md`. */
export const readDocument = (path: string): string => readFileSync(join(packageRoot, path), 'utf8')

/** The code block of a document whose first line is a comment, `// <name>` or `# <name>`. Throws when there is not exactly one. */
export const codeBlock = (path: string, name: string): string => {
  const blocks = [...readDocument(path).matchAll(/^```\w+\n([\s\S]*?)^```$/gm)].map(([, code = '']) => code)
  const [found, ...others] = blocks.filter((code) => /^(?:\/\/|#|;|<!--) (.*?)(?: -->)?\n/.exec(code)?.[1] === name)
  if (found === undefined || others.length > 0) throw new Error(`${path} has not one code block called ${name}`)
  return found
}

/** Runs commands of a document in a folder, as its reader does; `npx` runs the built product. Resolves with what they print. */
export const runCommands = async (folder: string, commands: string): Promise<string> => {
  const npx = `npx() { shift; '${process.execPath}' '${join(packageRoot, 'dist/core/main.js')}' "$@"; }`
  const { stdout } = await promisify(execFile)('bash', ['-ec', `${npx}\n${commands}`], { cwd: folder })
  return stdout
}

/** Makes a folder in which modules find `signet-idp` and `zod` as those of a deployer do. */
export const linkPackages = (folder: string): void => {
  const packages = join(folder, 'node_modules')
  mkdirSync(packages)
  symlinkSync(packageRoot, join(packages, 'signet-idp'))
  symlinkSync(join(packageRoot, 'node_modules', 'zod'), join(packages, 'zod'))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
}

/** Puts modules of a document into a folder. */
export const writeDocumented = (folder: string, path: string, names: readonly string[]): void => {
  linkPackages(folder)
  for (const name of names) writeFileSync(join(folder, name), codeBlock(path, name))
}

/** Puts files of an example into a folder. */
export const writeExample = (folder: string, example: string, names: readonly string[]): void => {
  linkPackages(folder)
  for (const name of names) copyFileSync(join(packageRoot, 'examples', example, name), join(folder, name))
}
