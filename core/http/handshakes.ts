import type { Socket } from 'node:net'
import { addressBucket } from '../address-bucket.js'
import type { Clock } from '../clock.js'
import { MinuteMap } from '../limits/minute-map.js'
import { minuteOf } from '../limits/minute-shares.js'

/** The number of addresses that are remembered in one minute. */
const maxRemembered = 100_000
/** The bytes of costly handshakes that one address may send in a minute, which cost half a second of one core. */
const mostBytes = 256 * 1024
/** This is more than a client sends before its certificates. */
const beforeCertificates = 3 * 1024

/** Limits the cost of handshakes of one address that fail, or that show certificates no client needs. */
export interface Handshakes {
  /** Called for a connection that was just made. Returns false when it must be closed at once. */
  admit(socket: Socket): boolean
  /**
   * Called for the same connection, which is found by its port, when its handshake has succeeded. With `isCostly` it
   * counts all the same.
   */
  finish(socket: Socket, isCostly: boolean): void
}

/**
 * OpenSSL verifies the signatures of up to a hundred certificates before any callback runs, and Node has no option
 * for it. This takes 130 ms for 60 KiB where the keys are on P-521. So the bytes of such handshakes are counted, and
 * limited for each address.
 */
export const createHandshakes = (clock: Clock): Handshakes => {
  const spent = new MinuteMap<number>(maxRemembered)
  const pending = new Map<string, Socket>()
  const nameOf = ({ remoteAddress, remotePort }: Socket) => `${String(remoteAddress)} ${String(remotePort)}`

  const count = (bucket: string, bytes: number): void => {
    spent.enter(minuteOf(clock))
    spent.set(bucket, (spent.get(bucket) ?? 0) + bytes)
  }

  return {
    admit(socket) {
      const bucket = addressBucket(socket.remoteAddress ?? '')
      if (bucket === undefined) return true
      spent.enter(minuteOf(clock))
      if ((spent.get(bucket) ?? 0) >= mostBytes) return false
      const name = nameOf(socket)
      pending.set(name, socket)
      socket.once('close', () => {
        if (pending.get(name) !== socket) return
        pending.delete(name)
        if (socket.bytesRead > beforeCertificates) count(bucket, socket.bytesRead)
      })
      return true
    },
    finish(socket, isCostly) {
      const name = nameOf(socket)
      const bucket = addressBucket(socket.remoteAddress ?? '')
      const bytes = pending.get(name)?.bytesRead ?? 0
      pending.delete(name)
      if (isCostly && bucket !== undefined) count(bucket, bytes)
    },
  }
}
