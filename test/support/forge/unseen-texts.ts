/** Texts that look like another one, or like nothing. */
export const unseenTexts: readonly string[] = [
  ...['\u061c', '\u200b', '\u200e', '\u200f', '\u202a', '\u202e', '\u2066', '\u2069', '\u00ad', '\u2060', '\u2064'],
  ...['\u034f', '\u115f', '\u1160', '\u17b4', '\u180b', '\u180e', '\u2028', '\u2029', '\u2800', '\u3164', '\uffa0'],
  ...['\ufe0e', '\ufe0f', '\ufeff', '\ufff9', '\u00a0', '\u2003', '\u202f', '\u3000', '\u{e0001}', '\u{e0041}'],
  ...['\u{e007f}', '\u{e0100}', '\u{1d173}', '\ud800', '\u200c', '\u200d'],
]
  .flatMap((one) => [one, `ACME${one}`, `AC${one}ME`])
  .concat(' ', '   ', ' ACME', 'ACME ', 'AC  ME', 'e\u0301', '\u0627\u200d\u0628', '\u062f\u200c\u0628')

/** Texts in scripts that need joiners, and what else a name has. */
export const plainTexts: readonly string[] = [
  ...['ACME', 'ACME Ltd.', 'Bücher & Café', '株式会社', 'Ελλάδα', 'בנק', 'شركة', '🔑 Keys'],
  // Persian with a non-joiner, Devanagari with a joiner and a non-joiner after the virama.
  ...['می\u200cخواهم', 'क्\u200dष', 'क्\u200cष'],
]
