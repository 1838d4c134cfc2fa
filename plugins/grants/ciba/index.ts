import { definePlugin } from '../../../core/api/index.js'
import { decidePoll } from '../../../core/api/internal.js'

/** The grant of client-initiated backchannel authentication (OpenID CIBA Core §10.1). */
export default definePlugin({
  name: 'grants/ciba',
  apiVersion: 1,
  needs: ['backchannelRequests'],
  create: (_options, { backchannelRequests }) => ({
    grants: [
      {
        grantType: 'urn:openid:params:grant-type:ciba',
        handle: (request) => decidePoll(backchannelRequests, request, 'auth_req_id'),
      },
    ],
  }),
})
