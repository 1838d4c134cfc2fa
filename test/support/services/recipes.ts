import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../../../core/package-root.js'
import { codeBlock } from '../document.js'

/**
 * The packages of a page of `docs/recipes`, brought by its own block `install` into a folder of the cache. They are
 * there once the file `installed` is, whose name has the hash of that block: a page with other versions installs again.
 */
export class RecipePackages {
  readonly #commands: string
  readonly folder: string
  readonly installed: string

  constructor(name: string) {
    this.#commands = codeBlock(`docs/recipes/${name}.md`, 'install')
    this.folder = join(packageRoot, 'node_modules/.cache/recipes', name)
    this.installed = `${this.folder}.${createHash('sha256').update(this.#commands).digest('hex').slice(0, 16)}.installed`
  }

  get isMissing(): boolean {
    return !existsSync(this.installed)
  }

  /** False where a command fails. */
  install(): boolean {
    rmSync(this.folder, { recursive: true, force: true })
    mkdirSync(this.folder, { recursive: true })
    // npm looks for a project above a folder that has none.
    writeFileSync(join(this.folder, 'package.json'), '{ "private": true }')
    const inherited = Object.entries(process.env).filter(([name]) => !/^npm_(?!config_registry)/i.test(name))
    const { status } = spawnSync('bash', ['-ec', this.#commands], {
      cwd: this.folder,
      env: { ...Object.fromEntries(inherited), npm_config_ignore_scripts: 'true', npm_config_audit: 'false' },
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    if (status === 0) writeFileSync(this.installed, '')
    return status === 0
  }
}

/** Those that `npm test` runs. */
export const recipes = { express: new RecipePackages('express') } as const
