/** A complete claim written out by hand from facts 8 to 11, so that no test takes its expectation from the code it checks. */
import type { Acceptance, ProofPayload } from '../../src/proof/claim.ts'

export const COMMIT = 'a'.repeat(40)
const TRUNK = 'b'.repeat(40)
const TREE = 'c'.repeat(40)
const digest = (digit: string): string => digit.repeat(64)
const id = (last: number): string => `00000000-0000-4000-8000-${String(last).padStart(12, '0')}`

/** A pending Proof of `commit` with one job. `salt` varies the claim. */
export const payload = (commit = COMMIT, salt = 0): ProofPayload => ({
  subject: { commit },
  proof: {
    completion: {
      candidate_id: id(1),
      proof_id: id(2),
      candidate: {
        attempt_id: id(3),
        source: { effort_id: id(4), branch: 'refs/heads/feat', head: commit, tree: TREE },
        predecessor: TRUNK,
        head: commit,
        tree: TREE,
        policy: digest('1'),
        requirement_set: digest('2'),
      },
      validation: {
        attempt_id: id(3),
        candidate_id: id(1),
        head: commit,
        policy: digest('1'),
        requirement_set: digest('2'),
        mode: 'strict',
        requirements: [{ id: 'test', kind: 'job', definition: digest('3') }],
        receipts: [
          { requirement: 'test', evidence_id: id(5), candidate_id: id(1), policy: digest('1'), reading: null },
        ],
        assembled_at: 1_767_225_600_000,
      },
      components: [
        {
          id: id(5),
          evidence: {
            attempt_id: id(3),
            candidate_id: id(1),
            sequence: 1,
            purpose: 'completion',
            mode: 'strict',
            applicability: {
              producer: 'jobs.test',
              policy: digest('1'),
              protected_definitions: digest('4'),
              command: digest('5'),
              extractor: null,
              inputs: digest('6'),
              denominator_inputs: digest('6'),
              toolchain: digest('7'),
              environment: digest('8'),
              seed: 0,
              closure: { kind: 'candidate', head: commit },
            },
            finished_at: 1_767_225_600_000,
            artifacts: [],
            outcome: { kind: 'passed', capture_complete: true, metrics: {} },
          },
        },
      ],
      attempts: [
        {
          identity: {
            id: id(3),
            candidate_id: id(1),
            executor: id(6),
            sequence: 1,
            rerun_of: null,
            started_at: 1_767_225_500_000,
          },
          subjects: [digest('9')],
          purpose: 'completion',
          mode: 'strict',
          state: { kind: 'finished', outcome: 'passed', finished_at: 1_767_225_600_000 },
        },
      ],
      executors: [{ operation_id: id(6), originating_effort: id(4), started_at: 1_767_225_500_000 }],
    },
    branch: 'feat',
    trunk: 'main',
    head: commit.slice(0, 12),
    files_total: 1,
    insertions: 1 + salt,
    deletions: 0,
  },
  presentation: { line: '> **Proof:** gate passed', markdown: '# Proof\n' },
})

const acceptance: Acceptance = {
  authority: {
    authority_id: id(7),
    landing_id: id(8),
    authority: {
      source: { source: 'conversation', record_id: id(9), scopes: [] },
      approved_at: 1_767_225_700_000,
      sources: [{ effort_id: id(4), branch: 'refs/heads/feat', head: COMMIT, tree: TREE }],
      composition_procedure: 'own-tip/v1',
      policy: digest('1'),
      predecessor_authorities: [],
      state: { kind: 'consumed', landing_id: id(8), at: 1_767_225_700_000 },
    },
    executor: { operation_id: id(6), originating_effort: id(4), started_at: 1_767_225_700_000 },
  },
  consent: { source: 'conversation' },
  variances: [],
  standard_proposals: [],
}

/** The same, landed by conversation. */
export const landedPayload = (commit = COMMIT, salt = 0): ProofPayload => ({ ...payload(commit, salt), acceptance })
