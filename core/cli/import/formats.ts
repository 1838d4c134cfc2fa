/** The files that `signet accounts import` reads. The command line knows them before it loads the readers. */
export const importFormats = ['csv', 'jsonl', 'keycloak', 'firebase', 'ldif'] as const
export type ImportFormat = (typeof importFormats)[number]
