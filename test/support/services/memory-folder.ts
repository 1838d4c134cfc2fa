import { chmodSync, mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs'

const mount = '/dev/shm'
/** Bytes, several times as much as all tests keep at a time. */
const needed = 4 * 2 ** 30

/** Containers may have it small, or without programs in it. */
const isFit = (): boolean => {
  try {
    const line = readFileSync('/proc/mounts', 'utf8')
      .split('\n')
      .find((one) => one.split(' ')[1] === mount)
    const { bavail, bsize } = statfsSync(mount)
    return line !== undefined && !/\bnoexec\b/.test(line) && bavail * bsize >= needed
  } catch {
    return false
  }
}

/**
 * Lets this process and those that it starts keep temporary files in memory, unless `TMPDIR` says where, or Linux has
 * no room there. Most tests open stores, which wait for the disk at each flush.
 */
export const useMemoryFolder = (): void => {
  if (process.env['TMPDIR'] !== undefined || !isFit()) return
  const folder = mkdtempSync(`${mount}/signet-`)
  // Servers that leave root reach what tests have opened to them.
  chmodSync(folder, 0o711)
  process.env['TMPDIR'] = folder
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
}
