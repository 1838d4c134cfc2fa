/** `User-Agent` of every request that the server and the libraries send (RFC 9110 §10.1.5). The version is that of the package. */
export const userAgent = 'signet/0.2.0'
