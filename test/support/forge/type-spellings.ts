/** Other ways to write one media type in `typ` (RFC 7515 §4.1.9), each of them right. */
export const spellingsOf = (type: string): readonly string[] => [
  type === type.toUpperCase() ? type.toLowerCase() : type.toUpperCase(),
  [...type].map((letter, at) => (at % 2 ? letter.toLowerCase() : letter.toUpperCase())).join(''),
  `application/${type}`,
  `Application/${type.toUpperCase()}`,
]
