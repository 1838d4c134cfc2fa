const pause = (seconds, signal) =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, seconds * 1000)
    signal.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true })
  })

/** What the provider's last answer means for the next poll; anything else ends the waiting. */
const nextInterval = (error, seconds) => {
  if (error.code === 'authorization_pending') return seconds
  if (error.code === 'slow_down') return seconds + 5
  // RFC 8628 §3.5: without an answer, back off.
  if (error.status === undefined || error.status >= 500) return seconds * 2
  throw error
}

/**
 * Polls as RFC 8628 §3.5 has it and gives the tokens; undefined when `signal` ended it. `slowDown` hears the seconds
 * between polls whenever they change. Throws what the provider refused with.
 */
export const waitForTokens = async (poll, intervalSeconds, signal, slowDown) => {
  let seconds = intervalSeconds
  for (;;) {
    await pause(seconds, signal)
    if (signal.aborted) return undefined
    try {
      return await poll()
    } catch (error) {
      const next = nextInterval(error, seconds)
      if (next !== seconds) slowDown(next)
      seconds = next
    }
  }
}
