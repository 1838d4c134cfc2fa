import { openFaultProxy } from '../support/stores/fault-proxy.js'
import { startTestRedis } from '../support/stores/redis/store.js'
import { describeWith } from '../support/services/describe-with.js'
import { describeRacesNearAndFar } from '../support/stores/races/describe-races.js'

// The races of races.test.ts on Redis, near and far: SIGNET_RACE_ROUNDS of each verb with each delay.

describeWith('redis', 'Redis', () =>
  describeRacesNearAndFar({
    verbs: ['redeem', 'claim', 'claim what expired', 'put onlyIfAbsent', 'begin a count', 'take an attempt'],
    few: [100, 25, 20],
    open: async (keep) => {
      const server = keep(await startTestRedis())
      const proxy = keep(await openFaultProxy({ host: server.host, port: server.port }))
      const store = (uri: string) => ({ use: 'redis', uri, prefix: server.prefix }) as const
      return { near: store(server.uri), far: store(server.uriThrough(proxy.port)), proxy }
    },
  }),
)
