/** A position in a trace (W3C Trace Context §3.2). */
export interface TracePosition {
  /** 32 hexadecimal digits. */
  readonly traceId: string
  /** 16 hexadecimal digits. */
  readonly spanId: string
  readonly traceFlags: number
}

const form = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:$|-)/

/** Parses the header. Returns undefined for a value that W3C Trace Context does not accept, which is then ignored. */
export const parseTraceparent = (header: string | undefined): TracePosition | undefined => {
  if (header === undefined || header.length > 256) return undefined
  // Nothing follows the flags in version 00 (§3.2.2.5).
  if (header.startsWith('00') && header.length !== 55) return undefined
  const [, traceId = '', spanId = '', flags = ''] = form.exec(header) ?? []
  return traceId === '' ? undefined : { traceId, spanId, traceFlags: Number.parseInt(flags, 16) }
}

/** Formats it in the only existing version. */
export const formatTraceparent = ({ traceId, spanId, traceFlags }: TracePosition): string =>
  `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`
