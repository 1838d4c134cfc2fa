/** Whether this is one DER element to the last byte: a short tag, and a definite length equal to the rest. */
export const isWholeDer = (bytes: Buffer): boolean => {
  const first = bytes[1]
  if (first === undefined) return false
  if (first < 0x80) return bytes.length === 2 + first
  const lengthBytes = first - 0x80
  if (lengthBytes === 0 || lengthBytes > 3 || bytes.length < 2 + lengthBytes) return false
  return bytes.length === 2 + lengthBytes + bytes.readUIntBE(2, lengthBytes)
}
