/** Where in a document something is: `['keys', 1, 'alg']`. */
export type Path = readonly (string | number)[]

/** `['keys', 1, 'alg']` as `keys[1].alg`. */
export const formatPath = (path: Path): string => {
  let text = ''
  for (const part of path) {
    if (typeof part === 'number') text += `[${String(part)}]`
    else if (/^[A-Za-z_$][\w$-]*$/.test(part)) text += text === '' ? part : `.${part}`
    else text += `[${JSON.stringify(part)}]`
  }
  return text
}
