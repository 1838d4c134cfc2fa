import { z } from 'zod'
import { definePlugin, type JsonObject } from '../../../../core/api/index.js'
import type {
  EnrolmentContext,
  EvidenceContext,
  SecondFactorProof,
  StatusQuestion,
} from '../../../../core/api/attestation.js'

/** What a double was asked, and what it shall answer: a test sets `verify`, `consume`, `current` and `enrolled` at will. */
export interface Double {
  verify: (enrolment: EnrolmentContext, proof: SecondFactorProof) => unknown
  consume: (() => unknown) | undefined
  current: (question: StatusQuestion, refuse: (reason: string) => undefined) => unknown
  evidence: (context: EvidenceContext, evidence: JsonObject) => unknown
  enrolled: (question: StatusQuestion, attributes: unknown) => unknown
  readonly asked: { readonly enrolment: EnrolmentContext; readonly proof: SecondFactorProof }[]
  readonly questions: StatusQuestion[]
  readonly enrolments: StatusQuestion[]
  /** Back to the beginning: `right` is the right word, and everybody is active. */
  reset(): void
}

const newDouble = (): Double => {
  const double: Double = {
    verify: () => undefined,
    consume: undefined,
    current: () => undefined,
    evidence: () => undefined,
    enrolled: () => undefined,
    asked: [],
    questions: [],
    enrolments: [],
    reset() {
      double.verify = (_enrolment, { value }) =>
        value === 'right' ? { ok: true } : { ok: false, reason: 'wrong word' }
      double.consume = undefined
      double.current = () => ({})
      double.evidence = ({ challenge }, { contains }) =>
        contains === challenge
          ? { ok: true, keyStorage: ['iso_18045_high'] }
          : { ok: false, reason: 'another challenge' }
      double.enrolled = () => undefined
      for (const list of [double.asked, double.questions, double.enrolments]) list.length = 0
    },
  }
  double.reset()
  return double
}

/** Of this process: plugin and test need not be the same copy of this module. */
const doubles = ((globalThis as Record<symbol, unknown>)[Symbol.for('signet.test.attestation')] ??= new Map()) as Map<
  string,
  Double
>

export const doubleOf = (name: string): Double => {
  const double = doubles.get(name) ?? newDouble()
  doubles.set(name, double)
  return double
}

/** A double of a second factor, kind `word`, and of a status provider where `status` is set. */
export default definePlugin({
  name: 'attestation-double',
  apiVersion: 1,
  options: z
    .strictObject({
      name: z.string().default('double'),
      status: z.boolean().default(false),
      evidence: z.boolean().default(false),
    })
    .prefault({}),
  create: ({ name, status, evidence }) => {
    const double = doubleOf(name)
    return {
      secondFactors: [
        {
          kind: 'word',
          verify: async (enrolment, proof) => {
            double.asked.push({ enrolment, proof })
            const answer = (await double.verify(enrolment, proof)) as { ok: true }
            const { consume } = double
            return consume === undefined ? answer : { ...answer, consume: consume as () => Promise<boolean> }
          },
        },
      ],
      ...(evidence && {
        evidence: [
          {
            kind: 'chip',
            verify: async (context, sent) => (await double.evidence(context, sent)) as { ok: true },
          },
        ],
      }),
      ...(status && {
        statusProvider: {
          current: (question, _signal, refuse) => {
            double.questions.push(question)
            return double.current(question, refuse) as Promise<Record<string, string> | undefined>
          },
          enrolled: async (question, attributes) => {
            double.enrolments.push(question)
            await double.enrolled(question, attributes)
          },
        },
      }),
    }
  },
})
