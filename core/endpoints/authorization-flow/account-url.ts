/** The address of the person's own page, or of a part of it. */
export const accountUrl = (issuer: string, section?: string): string =>
  `${issuer}/account${section === undefined ? '' : `/${section}`}`
