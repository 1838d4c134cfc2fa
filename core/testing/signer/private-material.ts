import { inspect, types } from 'node:util'
import { secretJwkMembers } from '../../jose/algorithms.js'

/** Every object reachable from here through properties, symbols or prototypes. */
const reachable = (root: object): ReadonlySet<object> => {
  const seen = new Set<object>([root])
  for (const object of seen) {
    const names = Reflect.ownKeys(object)
    const values = names.map((name) => Reflect.getOwnPropertyDescriptor(object, name)?.value as unknown)
    for (const value of [...values, Reflect.getPrototypeOf(object)])
      if ((typeof value === 'object' || typeof value === 'function') && value !== null && value !== globalThis)
        seen.add(value)
  }
  return seen
}

const isPrivate = (object: object): boolean => {
  if (types.isKeyObject(object) || types.isCryptoKey(object)) return object.type !== 'public'
  return Object.hasOwn(object, 'kty') && secretJwkMembers.some((name) => Object.hasOwn(object, name))
}

/** Whether a private or symmetric key is reachable from this object, or in what `inspect` and JSON show of it. */
export const holdsPrivateMaterial = (root: object): boolean => {
  if (
    /PRIVATE|PrivateKeyObject|SecretKeyObject/.test(inspect(root, { showHidden: true, depth: null, showProxy: true }))
  )
    return true
  return [...reachable(root)].some(isPrivate)
}
