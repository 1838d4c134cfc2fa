import { isIP } from 'node:net'
import { z } from 'zod'
import { parseDistinguishedName } from '../../certificates/distinguished-name.js'
import { subjectMembers, type CertificateSubject } from '../../certificates/subject.js'

const name = z.string().min(1, 'must not be empty').max(1024)

/** Members of a client's metadata for `tls_client_auth` (RFC 8705 §2.1.2). */
export const certificateSubject = {
  tls_client_auth_subject_dn: name
    .refine(
      (text) => parseDistinguishedName(text) !== undefined,
      'must be a distinguished name (RFC 4514), such as CN=app,O=Example Bank,C=DE',
    )
    .optional(),
  tls_client_auth_san_dns: name.regex(/^[\w-]+(?:\.[\w-]+)*$/, 'must be a host name without wildcard').optional(),
  tls_client_auth_san_uri: name.refine((text) => URL.canParse(text), 'must be an absolute URI').optional(),
  tls_client_auth_san_ip: name.refine((text) => isIP(text) !== 0, 'must be an IP address').optional(),
  tls_client_auth_san_email: name.regex(/^[^@\s]+@[^@\s]+$/, 'must be an email address').optional(),
} satisfies Record<keyof CertificateSubject, z.ZodType>

/** With `tls_client_auth` exactly one subject must be named, and none with any other method. */
export const findSubjectFault = (
  metadata: CertificateSubject,
  method: string | undefined,
): { readonly path: string; readonly message: string } | undefined => {
  const named = subjectMembers.filter((member) => member in metadata)
  const [first, second] = named
  if (method !== 'tls_client_auth')
    return first && { path: first, message: 'is for token_endpoint_auth_method tls_client_auth' }
  if (first === undefined)
    return {
      path: subjectMembers[0],
      message: `or one of ${subjectMembers.slice(1).join(', ')} is required for tls_client_auth`,
    }
  return second && { path: second, message: `must not be given together with ${first} (RFC 8705 §2.1.2)` }
}
