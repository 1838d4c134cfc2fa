/** Milliseconds since the epoch. Injected everywhere, so that tests own time. */
export type Clock = () => number

/** Whole seconds since the epoch, as JWT's NumericDate (RFC 7519 §2). */
export const epochSeconds = (clock: Clock): number => Math.floor(clock() / 1000)
