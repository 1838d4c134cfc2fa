import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { packageRoot } from '../../../core/package-root.js'
import { codeBlock, readDocument } from '../document.js'

interface Needs {
  /** Blocks of the page, or files of the program's folder, that the commands need; absent: none, or all of the folder. */
  readonly files?: readonly string[]
  /** Packages that bring the programs of the commands. */
  readonly debian?: readonly string[]
  /** A program of ours, in the place of what the page installs and we cannot run. */
  readonly program?: { readonly folder: string; readonly commands: string }
}

/**
 * The packages of a page of `docs/recipes`, brought by its own block `install` into a folder of the cache. They are
 * there once the file `installed` is, whose name has the hash of that block: a page with other versions installs again.
 */
export class RecipePackages {
  readonly #commands: string
  readonly #files: ReadonlyMap<string, string>
  readonly debian: readonly string[]
  readonly folder: string
  readonly installed: string

  constructor(name: string, { files, debian = [], program }: Needs = {}) {
    const page = `docs/recipes/${name}.md`
    this.debian = debian
    this.#commands = program?.commands ?? codeBlock(page, 'install')
    this.#files = new Map(
      program === undefined
        ? (files ?? []).map((file) => [file, codeBlock(page, file)])
        : (files ?? readdirSync(join(packageRoot, program.folder))).map((file) => [
            file,
            readDocument(`${program.folder}/${file}`),
          ]),
    )
    this.folder = join(packageRoot, 'node_modules/.cache/recipes', name)
    this.installed = `${this.folder}.${createHash('sha256')
      .update([this.#commands, ...this.#files.values()].join('\n'))
      .digest('hex')
      .slice(0, 16)}.installed`
  }

  get isMissing(): boolean {
    return !existsSync(this.installed)
  }

  /** Resolves with false where a command fails. */
  async install(): Promise<boolean> {
    rmSync(this.folder, { recursive: true, force: true })
    mkdirSync(this.folder, { recursive: true })
    // npm looks for a project above a folder that has none.
    writeFileSync(join(this.folder, 'package.json'), '{ "private": true }')
    for (const [file, text] of this.#files) {
      mkdirSync(dirname(join(this.folder, file)), { recursive: true })
      writeFileSync(join(this.folder, file), text)
    }
    const inherited = Object.entries(process.env).filter(([name]) => !/^npm_(?!config_registry)/i.test(name))
    const child = spawn('bash', ['-ec', this.#commands], {
      cwd: this.folder,
      env: { ...Object.fromEntries(inherited), npm_config_ignore_scripts: 'true', npm_config_audit: 'false' },
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    await once(child, 'close')
    if (child.exitCode === 0) writeFileSync(this.installed, '')
    return child.exitCode === 0
  }
}

/** Those that `npm test` runs. */
const light = {
  express: new RecipePackages('express'),
  'spring-boot': new RecipePackages('spring-boot', {
    files: ['pom.xml', 'src/main/java/com/example/Application.java'],
    debian: ['default-jdk-headless', 'maven'],
  }),
  fastify: new RecipePackages('fastify'),
  flask: new RecipePackages('flask', { debian: ['python3-venv'] }),
  spa: new RecipePackages('spa'),
}

/** What other tests install once: programs of examples, a second KMS, and the compiler of those who write plugins in TypeScript. */
const examples = {
  typescript: new RecipePackages('typescript', {
    program: { folder: 'test/support/typescript', commands: 'npm install --silent --no-package-lock' },
  }),
  moto: new RecipePackages('moto', {
    debian: ['python3-venv'],
    program: {
      folder: 'test/support/moto',
      commands: 'python3 -m venv venv; venv/bin/pip install --quiet -r requirements.txt',
    },
  }),
  'handoff-spring': new RecipePackages('handoff-spring', {
    files: ['pom.xml', 'src/main/java/com/example/SignIn.java'],
    debian: ['default-jdk-headless', 'maven'],
    program: { folder: 'examples/handoff-spring', commands: 'mvn -q -B package' },
  }),
}

/** Those whose packages take minutes, or a compiler that Debian does not have: `npm run test:recipes`. */
const heavy = {
  'admin-api': new RecipePackages('admin-api', {
    debian: ['python3-venv'],
    program: {
      folder: 'test/support/recipes/admin-api',
      commands: 'python3 -m venv venv; venv/bin/pip install --quiet -r requirements.txt',
    },
  }),
  go: new RecipePackages('go', { files: ['main.go'] }),
  libraries: new RecipePackages('libraries', {
    files: ['package.json'],
    program: { folder: 'test/support/recipes/libraries', commands: 'npm install --silent --no-package-lock' },
  }),
  mcp: new RecipePackages('mcp'),
  'mcp-python': new RecipePackages('mcp-python', {
    debian: ['python3-venv'],
    program: {
      folder: 'test/support/recipes/mcp-python',
      commands: 'python3 -m venv venv; venv/bin/pip install --quiet mcp==2.3.0',
    },
  }),
  nextjs: new RecipePackages('nextjs'),
  'openapi-typescript': new RecipePackages('openapi-typescript', {
    program: {
      folder: 'test/support/recipes/openapi-typescript',
      commands: 'npm install --silent --no-package-lock',
    },
  }),
  'oauth2-proxy': new RecipePackages('oauth2-proxy'),
  kubernetes: new RecipePackages('kubernetes', {
    program: { folder: 'test/support/recipes/kubernetes', commands: 'go build -o authenticate .' },
  }),
  'key-log': new RecipePackages('key-log', {
    program: { folder: 'test/support/recipes/key-log', commands: 'go build -o judge .' },
  }),
  'spring-opaque': new RecipePackages('spring-opaque', {
    files: ['pom.xml', 'src/main/java/com/example/Api.java'],
    debian: ['default-jdk-headless', 'maven'],
    program: { folder: 'test/support/recipes/spring-opaque', commands: 'mvn -q -B package' },
  }),
  verifying: new RecipePackages('verifying', {
    program: {
      folder: 'test/support/verify/authkestra',
      commands: 'PATH=$PATH:~/.cargo/bin; cargo build --quiet --offline 2>/dev/null || cargo build --quiet',
    },
  }),
}

export const recipes = { ...light, ...examples, ...heavy }

export type RecipeName = keyof typeof recipes

export const isHeavy = (name: string): boolean => Object.hasOwn(heavy, name)
