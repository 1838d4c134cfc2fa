/** The address of the account page, or of one section. */
export const accountUrl = (issuer: string, section?: string): string =>
  `${issuer}/account${section === undefined ? '' : `/${section}`}`
