// Which files run where, beside the kind in their names (CONTRIBUTING.md).

/** They pack and install, restart replicas, damage files, or show the demo to a browser, for half a minute each: `npm run test:more`. */
export const slow = [
  'test/recipes/*.flow.test.ts',
  'test/cli/package.flow.test.ts',
  'test/pages/demo.browser.test.ts',
  'test/pages/demo-attestation.browser.test.ts',
  'test/operators/console.browser.test.ts',
  'test/http/haproxy.flow.test.ts',
  'test/signers/pkcs11-return-codes.fault.test.ts',
  'test/signers/pkcs11-tokens.fault.test.ts',
  'test/signers/server.fault.test.ts',
  'test/storage/redis-policy.fault.test.ts',
  'test/storage/damaged-store.fault.test.ts',
  'test/cli/key-ceremony.fault.test.ts',
  'test/host/workers-probes.flow.test.ts',
]

/** Flows and races over HTTP: they run once more on MongoDB and Redis. */
export const onEveryStore = [
  'test/{attestation,authorize,ciba,clients,device,dpop,keys,limits,people,registration,sign-in,token}/*.{flow,race}.test.ts',
  'test/token/kill-exchange.fault.test.ts',
]

/** Flows about the protocol, pages or keys, by folder: they ask nothing of a store that others do not ask too. */
const alike = {
  attestation: ['alone', 'client-attestation', 'client-attestation-certificates', 'evidence', 'workload-identity'],
  authorize: [
    ...['authorization-details', 'claims-parameter', 'cross-site-post', 'developer-pages', 'hint', 'library-clients'],
    ...['logout-way-on', 'request-object', 'signed-response', 'step-up', 'unknown-scopes'],
  ],
  ciba: ['conformance'],
  clients: ['client-attestation', 'fapi-document', 'mtls', 'mtls-proxies', 'nimbus'],
  device: ['oidc-agent'],
  limits: ['refused-requests'],
  people: ['account', 'account-password', 'ends-configuration', 'totp-sign-in'],
  recipes: ['apache'],
  registration: ['beyond-policy', 'library-client'],
  'sign-in': ['claim-types', 'handoff-accounts', 'local-subject', 'upstream', 'upstream-alone'],
  token: ['claim-rules', 'encrypted', 'large-claims', 'pairwise', 'resources'],
}

/** The longest races; those of the stores themselves run in `npm test`, these in `npm run test:more`. */
export const racesOverHttp = ['attestation', 'clients', 'token'].map(
  (folder) => `test/${folder}/races-http.race.test.ts`,
)

/** The longest of the others. */
const long = [
  ...racesOverHttp,
  ...['authorize/back-channel', 'ciba/ping', 'registration/one-address'].map((name) => `test/${name}.flow.test.ts`),
]

/** On MongoDB and Redis they run in `npm run test:more`, and not in `npm test`. */
export const alikeOnEveryStore = [
  ...Object.entries(alike).flatMap(([folder, names]) => names.map((name) => `test/${folder}/${name}.flow.test.ts`)),
  ...long,
]
