// Runs workloads like the process runtime of a daemon. Each line on standard input is a BoxOrder as JSON and is
// answered by a line with a BoxAnswer. The workloads survive this process.
import { createInterface } from 'node:readline';
import { systemClock } from 'kedge';
import { ProcessRuntime, type WorkloadSpec, type WorkloadState } from '@kedge/controllers';

/** A command for the runtime. */
export type BoxOrder =
  | { readonly type: 'start'; readonly spec: WorkloadSpec }
  | { readonly type: 'observe' | 'remove'; readonly id: string }
  | { readonly type: 'requestStop'; readonly id: string; readonly graceMs: number }
  | {
      readonly type: 'exec';
      readonly id: string;
      readonly command: readonly string[];
      readonly terminal: boolean;
    };

/** The result of an order. */
export interface BoxAnswer {
  readonly error?: string;
  readonly state?: WorkloadState;
  readonly output?: string;
  readonly code?: number;
}

/** First argument, as JSON. */
export interface BoxDaemonOptions {
  readonly directory: string;
  readonly hiddenDirectories: readonly string[];
  readonly volumeDirectories?: readonly string[];
  readonly supervisor?: string;
}

const options = JSON.parse(process.argv[2] ?? '') as BoxDaemonOptions;
const runtime = new ProcessRuntime({ ...options, clock: systemClock });

async function answer(order: BoxOrder): Promise<BoxAnswer> {
  switch (order.type) {
    case 'start':
      await runtime.start(order.spec);
      return {};
    case 'observe':
      return { state: await runtime.observe(order.id) };
    case 'remove':
      await runtime.remove(order.id);
      return {};
    case 'requestStop':
      await runtime.requestStop(order.id, order.graceMs);
      return {};
    case 'exec': {
      const terminal = order.terminal ? { columns: 80, rows: 24 } : undefined;
      const command = await runtime.exec(order.id, { command: order.command, terminal });
      if (!terminal) command.closeInput();
      let output = '';
      for await (const { data } of command.output) output += data.toString();
      return { output, code: (await command.exited).code };
    }
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const result = await answer(JSON.parse(line) as BoxOrder).catch((error: unknown) => ({
    error: String(error),
  }));
  console.log(JSON.stringify(result));
}
process.exit();
