import { describe, expect, it } from 'vitest'
import { Circuit, type CircuitState } from '../../core/keys/circuit.js'

const circuit = () => {
  const seen: CircuitState[] = []
  return { seen, circuit: new Circuit(3, (state) => seen.push(state)) }
}

describe('a circuit', () => {
  it('opens after consecutive failures; an answer in between restarts the count', () => {
    const { seen, circuit: one } = circuit()
    one.failed(1)
    one.failed(1)
    one.answered()
    one.failed(1)
    one.failed(1)
    expect(one.state).toBe('closed')
    one.failed(1)
    expect(one.state).toBe('open')
    one.failed(1)
    expect(seen).toEqual(['open'])
  })

  it('is closed only by a probe, not by a late answer', () => {
    const { seen, circuit: one } = circuit()
    one.failed(3)
    one.answered()
    expect(one.state).toBe('open')
    one.probed(true)
    expect(one.state).toBe('open')
    one.probe()
    one.probed(false)
    one.probe()
    one.probed(true)
    expect(seen).toEqual(['open', 'half_open', 'open', 'half_open', 'closed'])
    one.failed(1)
    one.failed(1)
    expect(one.state).toBe('closed')
  })
})
