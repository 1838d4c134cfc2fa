import type { DescribedDetail } from '../../oauth/requests/authorization-details.js'
import type { Translator } from '../languages/translator.js'

/** Describes what a client requests by `authorization_details`, in the operator's words. */
export const describeDetails = (translator: Translator, details: readonly DescribedDetail[]) =>
  details.map(({ title, lines }) => ({
    title: translator.own(title),
    lines: lines.map(({ label, text }) => ({ label: translator.own(label), text })),
  }))
