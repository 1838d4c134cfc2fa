/** Milliseconds since the epoch. Injected everywhere, so that tests control the time. */
export type Clock = () => number

/** RFC 3339 text of milliseconds since the epoch. A whole second has no fraction. */
export const isoTime = (milliseconds: number): string => new Date(milliseconds).toISOString().replace('.000Z', 'Z')

/** Whole seconds since the epoch, as JWT's NumericDate (RFC 7519 §2). */
export const epochSeconds = (clock: Clock): number => Math.floor(clock() / 1000)
