/** A ceremony that makes no key, or does not end; the message is a sentence for the people who hold it. */
export class CeremonyRefused extends Error {
  override readonly name = 'CeremonyRefused'
}
