let given = 0

/**
 * Another address for each request, for servers that trust loopback as their proxy: then what one request is refused
 * shares no line of the audit log with another's. Addresses are those of RFC 2544.
 */
export const fromAnotherAddress = (): { readonly 'x-forwarded-for': string } => {
  given++
  return {
    'x-forwarded-for': `198.${String(18 + ((given >> 16) & 1))}.${String((given >> 8) & 255)}.${String(given & 255)}`,
  }
}
