import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { root, TestDaemon, workload } from '../daemon.js';

const base = '/v1/namespaces/default';

/** Names of metrics in a guide, which abbreviates `controller_runtime` to `...`. */
async function promised(guide: string): Promise<readonly string[]> {
  const text = await readFile(join(root, 'docs/guides', guide), 'utf8');
  const names = [
    ...text.matchAll(/`((?:\.\.\.)?[a-z_]+_(?:total|seconds|depth|workers|reconciles))`/g),
  ];
  return names.map(([, name = '']) => name.replace('...', 'controller_runtime'));
}

describe('metrics of a running daemon', function () {
  this.timeout(180_000);
  let daemon: TestDaemon;
  before(async () => {
    daemon = await TestDaemon.start();
  });
  after(() => daemon.dispose());

  const scrape = async (): Promise<string> =>
    (await fetch(`http://${daemon.opsAddress}/metrics`)).text();

  it('include all metrics of the guides', async () => {
    const names = [...(await promised('observability.md')), ...(await promised('operating.md'))];
    expect(names).to.include.members([
      'workqueue_depth',
      'controller_runtime_reconcile_total',
      'controller_runtime_active_workers',
      'api_requests_total',
    ]);
    const text = await scrape();
    for (const name of names) expect(text, name).to.contain(`# TYPE ${name} `);
  });

  it('count the runs and the queue of every controller, including the agent', async () => {
    const { volume, service } = workload(daemon, 'counted', 'sleep 600');
    await daemon.ok('POST', `${base}/volumes`, volume);
    await daemon.ok('POST', `${base}/services`, service);
    await eventually('the instance Running', async () => {
      const { body } = await daemon.rest('GET', `${base}/instances/counted-0`);
      return body.status === 'Running';
    });
    const runs =
      /^controller_runtime_reconcile_total\{controller="([a-z]+)",result="(?:success|requeue_after)"\} [1-9]/gm;
    await eventually('runs of every controller', async () => {
      const text = await scrape();
      const seen = new Set([...text.matchAll(runs)].map(([, name]) => name));
      return ['volume', 'service', 'scheduler', 'namespace', 'agent'].every((c) => seen.has(c));
    });
    const text = await scrape();
    for (const name of ['volume', 'snapshot', 'service', 'scheduler', 'namespace', 'agent'])
      expect(text).to.contain(`controller_runtime_max_concurrent_reconciles{controller="${name}"}`);
    expect(text).to.contain('workqueue_depth{name="agent"}');
  });

  it('have the gauge of the longest running reconcile of the agent', async () => {
    await eventually('the gauge of the agent', async () =>
      (await scrape()).includes('workqueue_longest_running_processor_seconds{name="agent"}'),
    );
  });
});
