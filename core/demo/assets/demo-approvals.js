import { decodeJwt } from './demo-jwt.js'
import { element, fill, find, showLeaves, showMembers } from './demo-show.js'

/** The interval in milliseconds. */
const lookAgainAfter = 5000

/** Shows everything that is signed, with the parts that a person should read first at the top. */
const showRequest = ({ client_name: name, binding_message: message, authorization_details: details = [], ...rest }) => [
  element('h4', '', element('bdi', '', name ?? rest.client_id)),
  ...(message ? [element('p', '', element('code', 'big-code', message))] : []),
  ...details.map(showLeaves),
  showMembers(rest),
]

/** Offers what waits for the person, in a browser that is enrolled. Some demos lack this part; then nothing happens. */
export const offerApprovals = (device) => {
  const [list, status, ask] = ['approvals-list', 'approvals-status', 'approvals-ask'].map(find)
  if (!list) return { buttons: [], offer() {}, start() {}, stop() {} }
  let decide
  /** This changes with each `start` and `stop`. */
  let run
  /** The list as it is shown now. An answer that brings no news must not take the focus away. */
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
    // An answer to a request that was sent before a decision does not know of it.
    if (mine === turn) show(approvals)
  }
  /** The loop continues after errors, because the button beside it shows what is wrong. */
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

/** A `fetch` for a device that shows each decision as it is sent. */
export const showDecisions = (url, init) => {
  if (init.method === 'POST' && new URL(url).pathname.endsWith('/approvals')) {
    const { header, claims } = decodeJwt(JSON.parse(init.body).decision)
    fill('approval-signed', showMembers({ typ: header.typ, ...claims }))
    find('approval-signed').hidden = false
  }
  return fetch(url, init)
}
