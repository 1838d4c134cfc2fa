import { withDeadline } from '../../deadline.js'
import type { Log } from '../../observe/log.js'
import { Unavailable } from '../../unavailable.js'

/**
 * A notice that a request waits for a person. Devices fetch its contents from `/approvals`, so a push service need
 * not know it.
 */
export interface ApprovalNotice {
  /** The person, as devices are enrolled for. */
  readonly subject: string
  /** Seconds. */
  readonly expiresIn: number
  /** Aborted after 3 s. */
  readonly signal: AbortSignal
}

/** Wakes the devices of a person, by any channel. */
export interface ApprovalNotifier {
  readonly name: string
  /**
   * Called once per request, in the process that accepted it, while its client is answered. It is not awaited and not
   * repeated; errors are logged.
   */
  notify(notice: ApprovalNotice): Promise<void>
}

export interface NotifyDevicesOptions {
  readonly notifiers: Iterable<ApprovalNotifier>
  readonly log: Log
}

/** Never throws, and does not wait. */
export type NotifyDevices = (subject: string, expiresIn: number) => void

const deadlineMs = 3000
/** Concurrent notifications, which a hanging push service can occupy. Beyond it devices find out when they poll. */
const maxActive = 256

export const createNotifyDevices = ({ notifiers, log }: NotifyDevicesOptions): NotifyDevices => {
  const all = [...notifiers]
  let active = 0

  const wake = async (notifier: ApprovalNotifier, notice: Omit<ApprovalNotice, 'signal'>): Promise<void> => {
    const { name } = notifier
    if (active >= maxActive)
      return log.warn('A device is not notified: too many notifications are in progress', { name })
    active++
    try {
      const late = () => new Unavailable(name, 'unknown', 'it took too long')
      await withDeadline(deadlineMs, async (signal) => notifier.notify({ ...notice, signal }), late)
    } catch (error) {
      const reason = error instanceof Unavailable ? error.message : 'it failed'
      log.error('A device was not notified', { name, reason }, error instanceof Unavailable ? undefined : error)
    } finally {
      active--
    }
  }

  return (subject, expiresIn) => {
    for (const notifier of all) void wake(notifier, { subject, expiresIn })
  }
}
