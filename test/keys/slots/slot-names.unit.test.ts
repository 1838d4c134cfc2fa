import { expect, it } from 'vitest'
import { isNameOf, kidOf, nameOf } from '../../../core/keys/slots/slot.js'

it.each([
  ['{kid}', ['es-0', 'es-09', 'es-', 'es-1.old', 'rs-1', 'xes-1', 'es-1e3', '1']],
  ['signet-{kid}', ['es-1', 'signet-es-x', 'signet-es-', 'signet-es-1-2']],
  ['{number}', ['01', '0', 'a', '', '-1']],
  ['{slot}/{number}0', ['es/0', 'es/10a', 'rs/10']],
  ['{number}.{kid}', ['1.es-2', '12.es-1']],
])('the template %s makes its own names and no others', (ref, others) => {
  const slot = { slot: 'es', ref }
  for (const number of [1, 9, 10, 100, 1234])
    expect(isNameOf(slot, nameOf(slot, number, kidOf('es', number))), String(number)).toBe(true)
  expect(others.filter((name) => isNameOf(slot, name))).toEqual([])
})
