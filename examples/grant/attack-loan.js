import { attackGrant } from 'signet-idp/testing'
import loan from './loan.js'

const { findings, requests } = await attackGrant(loan, {
  options: { product: 'mortgage', branches: { 'L-1001': 'branch-7' } },
  requests: [{ client: { client_id: 'branch-7' }, params: { loan: 'L-1001' } }],
})
for (const { rule, attack, detail } of findings) console.error(`${rule}: ${detail} (${attack})`)
console.log(`${requests} requests, ${findings.length} findings`)
process.exitCode = findings.length === 0 ? 0 : 1
