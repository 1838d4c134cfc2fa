/**
 * This is part of every sample text that comes from people and clients. A page that contains it unchanged does not
 * escape its values.
 */
export const unescaped = '<signet-sample>'

const name = `Sample ${unescaped} "name" & 'more'`
const client = {
  clientId: 'sample',
  name,
  logoUri: 'https://client.example/logo.png',
  clientUri: 'https://client.example/',
  policyUri: 'https://client.example/policy',
  tosUri: 'https://client.example/terms',
}
const form = { action: '/form', csrf: 'csrf-of-the-sample' }

/** The data that the samples of pages are made from. */
export const sample = {
  name,
  client,
  account: { name, otherUrl: '/other' },
  form,
  ofClient: { ...form, sealedClient: 'sealed-client', client },
  asked: { scopes: ['openid', name], claims: ['birthdate', name], resources: [name] },
} as const
