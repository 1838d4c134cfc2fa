import { write } from 'node:fs'
import { Socket } from 'node:net'
import { promisify } from 'node:util'

/** How many bytes were written, and the error if not all were. */
export interface Written {
  readonly written: number
  readonly cause?: unknown
}

export type Put<Content> = (content: Content) => Written | Promise<Written>

const lineFeed = 0x0a

/** Ends the remains of a failed write before the next line, so that later lines can be read. */
export const wholeLines = (put: Put<Buffer>, torn = false): ((lines: string) => Promise<Written>) => {
  let isTorn = torn
  return async (lines) => {
    const start = isTorn ? 1 : 0
    const bytes = Buffer.from(isTorn ? `\n${lines}` : lines, 'utf8')
    const { written, cause } = await put(bytes)
    if (written > 0) isTorn = bytes[written - 1] !== lineFeed
    return { written: Math.max(0, written - start), cause }
  }
}

/** Standard output, or standard error. */
export type OutputStream = NodeJS.WriteStream & { readonly fd: number }

/**
 * Pipes, sockets and terminals are written through their stream, which waits for the reader; everything else by file
 * descriptor.
 */
export const putTo =
  (stream: OutputStream): Put<Buffer> =>
  (bytes) =>
    Object(stream) instanceof Socket ? putInStream(stream, bytes) : putAll(stream.fd, bytes)

const putInStream = (stream: NodeJS.WritableStream, bytes: Buffer): Promise<Written> =>
  new Promise((resolve) => {
    stream.write(bytes, (cause) => resolve(cause ? { written: 0, cause } : { written: bytes.length }))
  })

const writeSome = promisify(write)

const putAll = async (fd: number, bytes: Buffer): Promise<Written> => {
  let written = 0
  try {
    while (written < bytes.length) written += (await writeSome(fd, bytes, written)).bytesWritten
    return { written }
  } catch (cause) {
    return { written, cause }
  }
}
