import { randomUUID } from 'node:crypto'
import type { Body } from './action-call.js'
import type { KmsFault } from './faults.js'
import { account } from './keys.js'

/** One request that the double received. */
export interface RecordedCall {
  readonly eventTime: string
  readonly eventName: string
  readonly requestID: string
  readonly region: string
  /** As named in the request. */
  readonly keyId: string | undefined
  readonly body: Body
  readonly userAgent: string | undefined
  keyArn: string | undefined
  fault: KmsFault | undefined
  /** Undefined until it is answered. */
  status: number | undefined
  errorCode: string | undefined
}

export const newCallRecord = () => {
  const calls: RecordedCall[] = []
  return {
    calls: calls as readonly RecordedCall[],
    add(requestID: string, eventName: string, region: string, body: Body, userAgent: string | undefined): RecordedCall {
      const keyId = typeof body['KeyId'] === 'string' ? body['KeyId'] : undefined
      const open = { keyArn: undefined, fault: undefined, status: undefined, errorCode: undefined }
      const call = {
        eventTime: new Date().toISOString(),
        eventName,
        requestID,
        region,
        keyId,
        body,
        userAgent,
        ...open,
      }
      calls.push(call)
      return call
    },
    /** CloudTrail log file (CloudTrail user guide, "CloudTrail record contents"; KMS developer guide, "Sign"). */
    cloudTrail: () => ({ Records: calls.map(trailRecord) }),
  }
}

const trailRecord = (call: RecordedCall): Body => ({
  eventVersion: '1.11',
  userIdentity: { type: 'IAMUser', accountId: account, userName: 'double' },
  // In whole seconds, as in CloudTrail.
  eventTime: call.eventTime.replace(/\.\d+Z$/, 'Z'),
  eventSource: 'kms.amazonaws.com',
  eventName: call.eventName,
  awsRegion: call.region,
  sourceIPAddress: '127.0.0.1',
  userAgent: call.userAgent,
  ...(call.errorCode !== undefined && { errorCode: call.errorCode }),
  requestParameters: requestParameters(call),
  responseElements: null,
  requestID: call.requestID,
  eventID: randomUUID(),
  readOnly: !/^(Create|Disable|Replicate|Schedule)/.test(call.eventName),
  resources: call.keyArn === undefined ? [] : [{ accountId: account, type: 'AWS::KMS::Key', ARN: call.keyArn }],
  eventType: 'AwsApiCall',
  managementEvent: true,
  recipientAccountId: account,
  eventCategory: 'Management',
})

/** CloudTrail uses lower camel case and omits the message. */
const requestParameters = ({ body }: RecordedCall): Body =>
  Object.fromEntries(
    Object.entries(body)
      .filter(([name]) => name !== 'Message')
      .map(([name, value]) => [`${name.charAt(0).toLowerCase()}${name.slice(1)}`, value]),
  )
