// The package `qr` is beside this file only where it is served.
const { encodeQR } = await import(new URL('qr.js', import.meta.url).href)

const svg = (name, attributes) => {
  const created = document.createElementNS('http://www.w3.org/2000/svg', name)
  for (const [attribute, value] of Object.entries(attributes)) created.setAttribute(attribute, value)
  return created
}

/** Draws the text as a QR code, with the margin of four white modules that cameras expect (ISO/IEC 18004 §6.3.8). */
export const drawQrCode = (text, label) => {
  const modules = encodeQR(text, 'raw', { ecc: 'medium', border: 4 })
  const size = modules.length
  const dark = modules.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : [])))
  const picture = svg('svg', { class: 'qr', viewBox: `0 0 ${size} ${size}`, role: 'img', 'aria-label': label })
  picture.append(
    svg('rect', { width: size, height: size, fill: '#fff' }),
    svg('path', { d: dark.join(''), fill: '#000' }),
  )
  return picture
}
