import { definePlugin } from '../../../core/api/index.js'
import { decidePoll } from '../../../core/api/internal.js'

/** The device authorization grant (RFC 8628 §3.4). */
export default definePlugin({
  name: 'grants/device-code',
  apiVersion: 1,
  needs: ['deviceCodes'],
  create: (_options, { deviceCodes }) => ({
    grants: [
      {
        grantType: 'urn:ietf:params:oauth:grant-type:device_code',
        handle: (request) => decidePoll(deviceCodes, request, 'device_code'),
      },
    ],
  }),
})
