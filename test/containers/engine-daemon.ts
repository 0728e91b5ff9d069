import { type DaemonOptions, TestDaemon } from '../acceptance/daemon.js';
import { RealEngine, type RealEngineOptions, requireEngine } from './engine.js';

/** A real engine, and a daemon that runs containers in it. */
export interface EngineAndDaemon {
  readonly engine: RealEngine;
  readonly daemon: TestDaemon;
}

/** Options of {@link startEngineAndDaemon}. */
export interface EngineAndDaemonOptions extends DaemonOptions {
  readonly engine?: RealEngineOptions;
}

/** Starts both; skips the suite if no engine can be started. */
export async function startEngineAndDaemon(
  context: Mocha.Context,
  options: EngineAndDaemonOptions = {},
): Promise<EngineAndDaemon> {
  requireEngine(context);
  const engine = await RealEngine.start(options.engine);
  try {
    const daemon = await TestDaemon.start({
      ...options,
      // Read at each start of the daemon.
      get environment() {
        return { ...options.environment, KEDGE_RUNTIME_DOCKER_SOCKET: engine.socketPath };
      },
    });
    return { engine, daemon };
  } catch (error) {
    await engine.stop();
    throw error;
  }
}

/** Ends both. They are undefined if the suite was skipped or a start failed. */
export async function stopEngineAndDaemon({
  engine,
  daemon,
}: Partial<EngineAndDaemon>): Promise<void> {
  await daemon?.dispose();
  await engine?.stop();
}
