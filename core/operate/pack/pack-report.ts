import { RecordsUnreadable } from '../json-records.js'
import { FileUnfit } from './sealed-files.js'

/** Bytes of a part that is read as a whole. */
export const maxJsonBytes = 64 * 1024 * 1024

/** Something that is wrong with a pack. */
export interface PackFinding {
  /** Absent if it is no single file. */
  readonly file?: string
  readonly message: string
}

/** Collects what is found, file by file. */
export class PackReport {
  readonly findings: PackFinding[] = []
  readonly notes: string[] = []

  find(message: string, file?: string): void {
    if (this.findings.some((one) => one.file === file && one.message === message)) return
    this.findings.push({ ...(file !== undefined && { file }), message })
  }

  /** Runs a check of one file. A file that cannot be read is a finding. */
  async check<T>(file: string, work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work()
    } catch (error) {
      if (error instanceof FileUnfit) this.find(error.message, file)
      else if (error instanceof RecordsUnreadable) this.find(error.message, file)
      else if (error instanceof Error && 'code' in error && error.code === 'ENOENT') this.find('is missing', file)
      else throw error
      return undefined
    }
  }
}

/** Undefined for what is not JSON. */
export const parseJson = (bytes: Buffer): unknown => {
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    return undefined
  }
}
