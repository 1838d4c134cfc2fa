/**
 * Keeps what an issuer has prepared until it signs it. The object that `put` returns is the only way to the content,
 * and `take` hands the content out once. It throws for an object that was already signed, was copied or forged, or
 * belongs to another issuer.
 */
export const createPrepared = <Shown extends object, Content>() => {
  const contents = new WeakMap<Shown, Content>()
  return {
    put(shown: Shown, content: Content): Shown {
      contents.set(shown, content)
      return shown
    },
    take(shown: Shown): Content {
      const content = contents.get(shown)
      if (content === undefined) throw new Error('An issuer signs only what it has prepared, and signs it once.')
      contents.delete(shown)
      return content
    },
  }
}
