const pause = (seconds, signal) =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, seconds * 1000)
    signal.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true })
  })

/** Returns what the provider's last answer means for the next poll; any other error ends the wait. */
const nextInterval = (error, seconds) => {
  if (error.code === 'authorization_pending') return seconds
  if (error.code === 'slow_down') return seconds + 5
  // Without an answer the client backs off (RFC 8628 §3.5).
  if (error.status === undefined || error.status >= 500) return seconds * 2
  throw error
}

/**
 * Polls as in RFC 8628 §3.5 and returns the tokens, or undefined when `signal` ended it. `slowDown` receives the
 * seconds between polls whenever they change. Throws the provider's refusal.
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
