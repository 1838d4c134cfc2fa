import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { packageRoot } from '../../../core/package-root.js'
import { codeBlock } from '../document.js'

/**
 * The packages of a page of `docs/recipes`, brought by its own block `install` into a folder of the cache. They are
 * there once the file `installed` is, whose name has the hash of that block: a page with other versions installs again.
 */
export class RecipePackages {
  readonly #commands: string
  readonly #files: ReadonlyMap<string, string>
  readonly folder: string
  readonly installed: string

  /** `files` are blocks of the page that the commands need. */
  constructor(name: string, files: readonly string[] = []) {
    const page = `docs/recipes/${name}.md`
    this.#commands = codeBlock(page, 'install')
    this.#files = new Map(files.map((file) => [file, codeBlock(page, file)]))
    this.folder = join(packageRoot, 'node_modules/.cache/recipes', name)
    this.installed = `${this.folder}.${createHash('sha256')
      .update([this.#commands, ...this.#files.values()].join('\n'))
      .digest('hex')
      .slice(0, 16)}.installed`
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
    for (const [file, text] of this.#files) {
      mkdirSync(dirname(join(this.folder, file)), { recursive: true })
      writeFileSync(join(this.folder, file), text)
    }
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
export const recipes = {
  express: new RecipePackages('express'),
  'spring-boot': new RecipePackages('spring-boot', ['pom.xml', 'src/main/java/com/example/Application.java']),
  fastify: new RecipePackages('fastify'),
  flask: new RecipePackages('flask'),
  spa: new RecipePackages('spa'),
  go: new RecipePackages('go', ['main.go']),
} as const
