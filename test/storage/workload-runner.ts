// Starts one workload like the process runtime of a daemon, prints its pid, and waits to be killed. Argument: a
// RunnerOrder as JSON.
import { systemClock } from 'kedge';
import { ProcessRuntime, type WorkloadSpec } from '@kedge/controllers';
import { eventually } from 'kedge/testing';

/** The order of the runner. */
export interface RunnerOrder {
  readonly directory: string;
  readonly hiddenDirectories: readonly string[];
  readonly supervisor?: string;
  readonly spec: WorkloadSpec;
}

const { spec, ...options } = JSON.parse(process.argv[2] ?? '') as RunnerOrder;
const runtime = new ProcessRuntime({ ...options, clock: systemClock });
await runtime.start(spec);
const state = await eventually('the workload to run', async () => {
  const now = await runtime.observe(spec.id);
  return now.state === 'running' ? now : undefined;
});
console.log(state.pid);
setInterval(() => undefined, 60_000);
