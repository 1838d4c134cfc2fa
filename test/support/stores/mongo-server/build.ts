import { spawnSync } from 'node:child_process'
import { mkdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = dirname(fileURLToPath(import.meta.url))

/** Everything that Java needs to run the stand-in for MongoDB. */
export const mongoServerDirectory = join(here, '../../../..', 'node_modules', '.cache', 'mongo-server')

const source = join(here, 'MongoStandIn.java')

/** It was compiled, and its source has been changed since. */
export const isMongoServerOutdated = (): boolean => {
  const compiled = statSync(join(mongoServerDirectory, 'MongoStandIn.class'), { throwIfNoEntry: false })
  return compiled !== undefined && compiled.mtimeMs < statSync(source).mtimeMs
}

const run = (command: string, ...args: string[]): boolean =>
  spawnSync(command, args, { stdio: ['ignore', 'ignore', 'inherit'] }).status === 0

/** Brings mongo-java-server by Maven and compiles the program around it. False where that fails. */
export const buildMongoServer = (): boolean => {
  const libraries = join(mongoServerDirectory, 'lib')
  mkdirSync(libraries, { recursive: true })
  return (
    run(
      'mvn',
      '-q',
      '-B',
      '-f',
      join(here, 'pom.xml'),
      'dependency:copy-dependencies',
      `-DoutputDirectory=${libraries}`,
    ) && run('javac', '-cp', join(libraries, '*'), '-d', mongoServerDirectory, source)
  )
}
