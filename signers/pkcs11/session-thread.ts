import { readSync, writeSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import type { PKCS11 } from 'pkcs11js'
import {
  frameReader,
  frameTypes,
  headerBytes,
  jsonFrame,
  type ChildOptions,
  type ChildReport,
  type ControlRequest,
} from './protocol.js'
import { failureOf, TokenFailure } from './return-codes.js'
import { openTokenSession, type TokenSession } from './token-session.js'

/** What a thread is started with. `first`: it initialises the library for all. */
export interface ThreadData {
  readonly options: ChildOptions
  readonly fd: number
  readonly gate: Int32Array
  readonly first: boolean
}

const CKF_OS_LOCKING_OK = 2
/** Answers leave at the latest so long after the first of them was made. */
const holdMs = 2
const signatureHead = headerBytes + 12

const { options, fd, gate, first } = workerData as ThreadData
const report = (message: ChildReport): void => parentPort?.postMessage(message)

const loadLibrary = async (): Promise<PKCS11> => {
  const pkcs11js = await import('pkcs11js').catch(() => {
    throw new TokenFailure(
      'refused',
      'the npm package pkcs11js is not installed or was not built: it needs a C++ compiler, make and python3; then run: npm rebuild pkcs11js',
    )
  })
  const lib = new pkcs11js.default.PKCS11()
  try {
    lib.load(options.module)
  } catch (error) {
    throw new TokenFailure(
      'refused',
      `${options.module} cannot be loaded as a PKCS#11 library: ${String((error as Error).message)}`,
    )
  }
  // Without its locks a library crashes as soon as two threads use it.
  if (first) lib.C_Initialize({ flags: CKF_OS_LOCKING_OK })
  return lib
}

/** Reads requests and writes answers, blocking: no event loop stands between the socket and the token. */
const serve = (session: TokenSession): void => {
  let answers: Buffer[] = []
  let heldSince = 0
  let counter = 0

  const flush = (): void => {
    if (answers.length === 0) return
    const all = answers.length === 1 ? (answers[0] ?? Buffer.alloc(0)) : Buffer.concat(answers)
    answers = []
    for (let at = 0; at < all.length;) at += writeSync(fd, all, at)
  }

  const sign = (body: Buffer): Buffer => {
    const begun = performance.now()
    const signature = session.sign(body.readUInt32LE(0), body.subarray(4))
    const frame = Buffer.allocUnsafe(signatureHead + signature.length)
    frame.writeUInt32LE(13 + signature.length, 0)
    frame[4] = frameTypes.signature
    frame.writeUInt32LE(session.handle, headerBytes)
    counter = (counter + 1) >>> 0
    frame.writeUInt32LE(counter, headerBytes + 4)
    frame.writeUInt32LE(Math.round((performance.now() - begun) * 1000), headerBytes + 8)
    frame.set(signature, signatureHead)
    return frame
  }

  const answer = (type: number, body: Buffer): Buffer => {
    try {
      if (type === frameTypes.sign) return sign(body)
      return jsonFrame(frameTypes.result, session.control(JSON.parse(body.toString()) as ControlRequest))
    } catch (error) {
      return jsonFrame(frameTypes.failure, failureOf(error))
    }
  }

  const take = frameReader((type, body) => {
    if (answers.length === 0) heldSince = performance.now()
    answers.push(answer(type, body))
    if (performance.now() - heldSince > holdMs) flush()
  })
  const room = Buffer.allocUnsafe(256 * 1024)
  for (;;) {
    const length = readSync(fd, room)
    if (length === 0) break
    take(room.subarray(0, length))
    flush()
  }
  session.close()
}

try {
  const session = openTokenSession({ lib: await loadLibrary(), options, gate, report })
  report({ event: 'ready' })
  serve(session)
} catch (error) {
  report({ event: 'failed', failure: failureOf(error) })
}
