import { expect } from 'chai';
import { defaultPolicy } from '../../policy/policy.js';
import { asRecorded, crashPriority, decideRestart, restartPriority, spreadOf } from './restart.js';

describe('the priority of a restart', () => {
  const ended = (ranMs: number) =>
    ({
      state: 'exited',
      run: 1,
      exitCode: 1,
      startedAt: 0,
      exitedAt: ranMs,
      requested: false,
    }) as const;
  const place = (crashes: number, ranMs = 0) =>
    restartPriority(defaultPolicy, ended(ranMs), crashes);

  it('decreases with each crash to a minimum, and is below that of a key that has a turn', () => {
    expect(place(1)).to.be.lessThan(crashPriority);
    expect(place(2)).to.be.lessThan(place(1));
    expect(place(6)).to.be.lessThan(place(5));
    expect(place(10_000), 'bounded').to.equal(place(1_000));
  });

  it('is the default after a run that was long enough', () => {
    expect(place(3, defaultPolicy.restartHealthyMs)).to.equal(0);
  });
});

describe('restart decision', () => {
  const exited = {
    state: 'exited',
    run: 1,
    startedAt: 0,
    exitedAt: 1_000,
    requested: false,
  } as const;

  it('follows the policy', () => {
    const decide = (policy: 'Always' | 'OnFailure' | 'Never', exitCode: number) =>
      decideRestart(defaultPolicy, policy, { ...exited, exitCode }, 0).type;
    expect([decide('Always', 0), decide('OnFailure', 0), decide('Never', 1)]).to.deep.equal([
      'restart',
      'stay',
      'stay',
    ]);
    expect(decide('OnFailure', 1)).to.equal('restart');
  });

  it('waits longer with each crash up to five minutes, and not at all after a stop by the agent or the engine', () => {
    const at = (crashes: number, value?: number) =>
      decideRestart(defaultPolicy, 'Always', { ...exited, exitCode: 1 }, crashes, value);
    for (const crashes of [0, 1])
      expect(at(crashes)).to.deep.equal({ type: 'restart', atMs: 2_000 });
    expect(at(4)).to.deep.equal({ type: 'restart', atMs: 9_000 });
    expect(at(50, 1)).to.deep.equal({ type: 'restart', atMs: 301_000 });
    const spread = [0, 0.5, 1].map((value) => at(4, value));
    expect(spread.map((each) => each.type === 'restart' && each.atMs)).to.deep.equal([
      ...[7_400, 9_000, 10_600],
    ]);
    expect(spreadOf('u', 1)).to.equal(spreadOf('u', 1)).and.to.be.within(0, 1);
    expect(spreadOf('u', 1)).to.not.equal(spreadOf('u', 2));
    const byEngine = { ...exited, exitCode: 137, reason: 'EngineRestarted' } as const;
    expect(decideRestart(defaultPolicy, 'Never', byEngine, 3)).to.deep.equal({
      ...{ type: 'restart', atMs: 0 },
    });
    const stopped = { ...exited, exitCode: 143, requested: true };
    const ours = decideRestart(defaultPolicy, 'Never', stopped, 0);
    expect(ours).to.deep.equal({ type: 'restart', atMs: 0 });
  });
});

describe('the attribution of an end to the engine', () => {
  const agentStartedAt = 10_000;
  const conditions = (reason: string) =>
    [{ type: 'Ready', status: 'False', reason, message: '', lastTransitionAt: '' }] as const;
  const recorded = {
    status: 'Failed',
    backoff: { run: 2 },
    conditions: conditions('Failed'),
  } as const;
  const reasonOf = (
    status: Parameters<typeof asRecorded>[0],
    exitCode: number,
    exitedAt = agentStartedAt,
    more: { readonly rebooted?: true } = {},
  ): string | undefined => {
    const times = { startedAt: 0, exitedAt, requested: false, ...more };
    const exited = { state: 'exited', run: 2, exitCode, ...times } as const;
    return asRecorded(status, { ...exited, reason: 'EngineRestarted' }, agentStartedAt).reason;
  };

  it('is removed for a recorded end of the workload itself, unless a stopping engine may have caused it', () => {
    expect(reasonOf(recorded, 0)).to.equal(undefined);
    expect(reasonOf({ ...recorded, status: 'Exited' }, 0)).to.equal(undefined);
    expect(reasonOf(recorded, 143), 'reported before the outage').to.equal('EngineRestarted');
    expect(reasonOf(recorded, 143, agentStartedAt - 1), 'of an earlier agent').to.equal(undefined);
    const rebooted = reasonOf(recorded, 143, agentStartedAt + 1, { rebooted: true });
    expect(rebooted, 'before a reboot that set the clock back').to.equal(undefined);
  });

  it('remains for an end that is not recorded, or is recorded as that of the engine', () => {
    for (const each of [
      { ...recorded, status: 'Running' } as const,
      { ...recorded, backoff: { run: 1 } },
      { ...recorded, conditions: conditions('EngineRestarted') },
    ])
      expect(reasonOf(each, 0)).to.equal('EngineRestarted');
  });
});
