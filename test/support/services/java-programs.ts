import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const support = join(dirname(fileURLToPath(import.meta.url)), '..')
const cache = join(support, '../..', 'node_modules', '.cache')

/** A program of ours in one Java file, with a `pom.xml` beside it that names its libraries. */
export class JavaProgram {
  readonly #source: string
  readonly #directory: string
  /** There once it was compiled. */
  readonly classFile: string
  readonly classPath: string

  constructor(name: string, folder: string, mainClass: string) {
    this.#directory = join(cache, name)
    this.#source = join(support, folder, `${mainClass}.java`)
    this.classFile = join(this.#directory, `${mainClass}.class`)
    this.classPath = [this.#directory, join(this.#libraries, '*')].join(':')
  }

  get #libraries(): string {
    return join(this.#directory, 'lib')
  }

  /** It was not compiled, or its source has been changed since. */
  get isMissing(): boolean {
    return !existsSync(this.classFile) || statSync(this.classFile).mtimeMs < statSync(this.#source).mtimeMs
  }

  /** Brings the libraries by Maven and compiles it. False where that fails. */
  build(): boolean {
    const run = (command: string, ...args: string[]): boolean =>
      spawnSync(command, args, { stdio: ['ignore', 'ignore', 'inherit'] }).status === 0
    const [libraries, pom] = [this.#libraries, join(dirname(this.#source), 'pom.xml')]
    mkdirSync(libraries, { recursive: true })
    return (
      run('mvn', '-q', '-B', '-f', pom, 'dependency:copy-dependencies', `-DoutputDirectory=${libraries}`) &&
      run('javac', '-cp', join(libraries, '*'), '-d', this.#directory, this.#source)
    )
  }
}

/** The stand-in for MongoDB: mongo-java-server. */
export const mongoStandIn = new JavaProgram('mongo-server', 'stores/mongo-server', 'MongoStandIn')

/** A FAPI 2.0 client by Nimbus' oauth2-oidc-sdk. */
export const nimbusClient = new JavaProgram('nimbus', 'clients/nimbus', 'FapiClient')

/** What relying parties do with tokens, by the same library. */
export const nimbusVerifier = new JavaProgram('nimbus-verifier', 'clients/nimbus', 'VerifyTokens')

export const javaPrograms = [mongoStandIn, nimbusClient, nimbusVerifier]
