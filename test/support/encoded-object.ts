/**
 * A JSON object in base64url whose first name has three letters: the headers and the claims of JWTs (`alg`, `typ`, `iss` …).
 * `eyJ` alone comes up in random text, too.
 */
export const encodedObject = /eyJ[\w-]{4}iO/
