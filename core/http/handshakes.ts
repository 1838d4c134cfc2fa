import type { Socket } from 'node:net'
import { addressBucket } from '../address-bucket.js'
import type { Clock } from '../clock.js'
import { MinuteMap } from '../limits/minute-map.js'
import { minuteOf } from '../limits/minute-shares.js'

/** Addresses of one minute. */
const mostRemembered = 100_000
/** Of costly handshakes of one address in a minute: half a second of one core. */
const mostBytes = 256 * 1024
/** More than a client sends before its certificates. */
const beforeCertificates = 3 * 1024

/** What handshakes of one address may cost that end in nothing, or show certificates that no client needs. */
export interface Handshakes {
  /** For a connection that was just made. False: it is to be closed at once. */
  admit(socket: Socket): boolean
  /** For the same connection, by its port: its handshake has ended well. `isCostly`: it counts all the same. */
  finish(socket: Socket, isCostly: boolean): void
}

/**
 * OpenSSL verifies the signatures of up to a hundred certificates before anybody is asked, and Node has no option for it: 130 ms
 * where the keys are on P-521, for 60 KiB. So the bytes of such handshakes are counted, and those of one address are bounded.
 */
export const createHandshakes = (clock: Clock): Handshakes => {
  const spent = new MinuteMap<number>(mostRemembered)
  const underway = new Map<string, Socket>()
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
      underway.set(name, socket)
      socket.once('close', () => {
        if (underway.get(name) !== socket) return
        underway.delete(name)
        if (socket.bytesRead > beforeCertificates) count(bucket, socket.bytesRead)
      })
      return true
    },
    finish(socket, isCostly) {
      const name = nameOf(socket)
      const bucket = addressBucket(socket.remoteAddress ?? '')
      const bytes = underway.get(name)?.bytesRead ?? 0
      underway.delete(name)
      if (isCostly && bucket !== undefined) count(bucket, bytes)
    },
  }
}
