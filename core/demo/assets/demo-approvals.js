import { decodeJwt } from './demo-jwt.js'
import { element, fill, find, showLeaves, showMembers } from './demo-show.js'

/** Milliseconds. */
const lookAgainAfter = 5000

/** What a person reads first stands first; all that is signed is there. */
const showRequest = ({ client_name: name, binding_message: message, authorization_details: details = [], ...rest }) => [
  element('h4', '', element('bdi', '', name ?? rest.client_id)),
  ...(message ? [element('p', '', element('code', 'big-code', message))] : []),
  ...details.map(showLeaves),
  showMembers(rest),
]

/** What waits for the person, for a browser that is enrolled. Not part of every demo: then nothing happens. */
export const offerApprovals = (device) => {
  const [list, status, ask] = ['approvals-list', 'approvals-status', 'approvals-ask'].map(find)
  if (!list) return { buttons: [], offer() {}, start() {}, stop() {} }
  let decide
  /** Changes with each `start` and `stop`. */
  let run
  /** What is shown: an answer that is not news does not take the focus away. */
  let shown
  let turn = 0

  const showOne = (approval) => {
    const button = (className, text, decision) => {
      const made = element('button', className, text)
      made.type = 'button'
      made.addEventListener('click', () => decide(approval, decision))
      return made
    }
    const buttons = [button('primary', 'Approve', 'approve'), button('', 'Deny', 'deny')]
    return element('article', 'panel approval', ...showRequest(approval.request), element('div', 'actions', ...buttons))
  }
  const show = (approvals) => {
    const ids = approvals.map(({ approvalId }) => approvalId).join()
    if (ids === shown) return
    shown = ids
    list.replaceChildren(...approvals.map(showOne))
    status.textContent = approvals.length === 0 ? 'Nothing waits.' : ''
  }
  const look = async () => {
    const mine = ++turn
    const approvals = await device.approvals()
    // What was asked before a decision knows nothing of it.
    if (mine === turn) show(approvals)
  }
  /** The button beside it tells what is wrong; this goes on. */
  const lookOn = async (mine) => {
    if (mine !== run) return
    if (document.visibilityState === 'visible') await look().catch(() => undefined)
    setTimeout(lookOn, lookAgainAfter, mine)
  }

  return {
    buttons: [ask],
    offer(step, inWords) {
      const act = (doing, done, work) =>
        step(doing, done, async () => {
          await work().catch((error) => {
            throw inWords(error)
          })
        })
      ask.addEventListener('click', () => act('Looking …', '', look))
      decide = (approval, decision) =>
        act('Signing …', decision === 'approve' ? 'Approved.' : 'Denied.', async () => {
          for (const button of list.querySelectorAll('button')) button.disabled = true
          try {
            await device.decide(approval, decision)
          } finally {
            shown = undefined
            await look()
          }
          find('approvals-title').focus()
        })
    },
    start() {
      if (run) return
      run = {}
      void lookOn(run)
    },
    stop() {
      run = undefined
      turn++
      shown = undefined
      list.replaceChildren()
      status.textContent = ''
      find('approval-signed').hidden = true
    },
  }
}

/** `fetch` for a device: it shows each decision as it is sent. */
export const showDecisions = (url, init) => {
  if (init.method === 'POST' && new URL(url).pathname.endsWith('/approvals')) {
    const { header, claims } = decodeJwt(JSON.parse(init.body).decision)
    fill('approval-signed', showMembers({ typ: header.typ, ...claims }))
    find('approval-signed').hidden = false
  }
  return fetch(url, init)
}
