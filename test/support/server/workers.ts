import type { Service } from './command-line.js'

/** What `/health/ready` says. */
export const readiness = async ({ admin }: Service): Promise<unknown> => (await fetch(`${admin}/health/ready`)).json()

/** The processes that have begun to serve as workers, the latest of each, by number. */
export const workerPids = (service: Pick<Service, 'output'>): readonly number[] => {
  const pids: number[] = []
  for (const line of service.output().split('\n')) {
    const entry = line.startsWith('{') ? (JSON.parse(line) as Record<string, unknown>) : {}
    if (entry['msg'] === 'worker started') pids[Number(entry['worker']) - 1] = Number(entry['pid'])
  }
  return pids
}
