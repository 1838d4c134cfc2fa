import type { DescribedDetail } from '../../oauth/requests/authorization-details.js'
import type { Words } from '../languages/words.js'

/** What a client asks for by `authorization_details`, in the words of the operator. */
export const describeDetails = (words: Words, details: readonly DescribedDetail[]) =>
  details.map(({ title, lines }) => ({
    title: words.own(title),
    lines: lines.map(({ label, text }) => ({ label: words.own(label), text })),
  }))
