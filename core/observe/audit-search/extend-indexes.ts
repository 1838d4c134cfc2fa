import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { extendIndex, indexFolder } from './index-file.js'
import { openLogFiles, type LogFile } from './log-files.js'

/** Removes the indexes of files that do not exist any more. */
const removeOldIndexes = (logPath: string, files: readonly LogFile[]): void => {
  const kept = new Set(files.map(({ id }) => id))
  for (const name of readdirSync(indexFolder(logPath)))
    if (!kept.has(name)) rmSync(join(indexFolder(logPath), name), { force: true })
}

/** Brings the indexes of a log up to date, in steps of a few milliseconds. Throws the system's error. */
export const extendIndexes = function* (logPath: string): Generator<void> {
  using opened = openLogFiles(logPath)
  for (const file of opened.files) yield* extendIndex(logPath, file)
  if (opened.files.length > 0) removeOldIndexes(logPath, opened.files)
}
