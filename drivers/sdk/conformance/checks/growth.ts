import { statfs } from 'node:fs/promises';
import type { Check } from '../check.js';
import { assert } from '../failure.js';
import { requireContent, writeContent } from '../content.js';
import { deviceBytes } from '../device-bytes.js';
import { kindOf, requireKind } from '../require-kind.js';
import type { Made } from '../created-resources.js';
import type { Trial } from '../trial.js';

async function expand(trial: Trial, made: Made, sizeBytes: bigint): Promise<bigint> {
  const request = { ...trial.call(made), sizeBytes };
  return (await (await trial.driver()).expand(request)).sizeBytes;
}

/** Checks that a volume grows, never shrinks, and keeps its content. */
export const growth: readonly Check[] = [
  {
    name: 'expand-reaches-its-size',
    behaviour:
      'expand returns at least the requested size at each call, and observe returns no smaller one',
    needs: ['expand'],
    body: async (trial) => {
      const made = await trial.provision();
      const wanted = trial.sizeBytes * 2n;
      for (const time of ['first', 'second']) {
        const reached = await expand(trial, made, wanted);
        assert(reached >= wanted, `the ${time} expand reached ${reached} bytes, not ${wanted}`);
      }
      const found = await (await trial.driver()).observe(trial.call(made));
      assert(
        found.sizeBytes === undefined || found.sizeBytes >= wanted,
        `observe returns ${found.sizeBytes ?? 0n} bytes, not ${wanted}`,
      );
    },
  },
  {
    name: 'expanded-sizes-are-real',
    behaviour:
      'after the next attach, the device of a volume has at least the size that expand returns',
    needs: ['expand', 'content'],
    body: async (trial) => {
      const made = await trial.provision();
      await trial.device(made);
      await (await trial.driver()).detach(trial.call(made));
      const reached = await expand(trial, made, trial.sizeBytes * 2n);
      const bytes = await deviceBytes(await trial.device(made));
      assert(bytes >= reached, `expand returns ${reached} bytes, and the device has ${bytes}`);
    },
  },
  {
    name: 'expand-keeps-data',
    behaviour: 'expand keeps the content',
    needs: ['expand', 'content'],
    body: async (trial) => {
      const made = await trial.provision();
      await trial.mounted(made, (path) => writeContent(path, 'kept'));
      await expand(trial, made, trial.sizeBytes * 2n);
      await trial.mounted(made, (path) => requireContent(path, 'kept', 'after expand'), {
        mayFormat: false,
      });
    },
  },
  {
    name: 'expand-keeps-data-in-use',
    behaviour:
      'expand of a mounted volume keeps the content, and files that are written afterwards are kept too',
    needs: ['expand', 'content'],
    body: async (trial) => {
      if (!trial.capabilities.onlineExpand)
        trial.leaveOut('the driver does not expand volumes in use (capability onlineExpand)');
      const made = await trial.provision();
      const mounted = await trial.mount(made);
      await writeContent(mounted.path, 'before');
      await expand(trial, made, trial.sizeBytes * 2n);
      await requireContent(mounted.path, 'before', 'after expand in use');
      await writeContent(mounted.path, 'after');
      await trial.release(mounted);
      await trial.mounted(made, (path) => requireContent(path, 'after', 'after expand in use'));
    },
  },
  {
    name: 'file-systems-grow',
    behaviour: 'the file system grows with its volume, after the next mount at the latest',
    needs: ['expand', 'content'],
    body: async (trial) => {
      const made = await trial.provision();
      await trial.device(made);
      const capacity = (path: string): Promise<number> =>
        statfs(path).then(({ blocks, bsize }) => blocks * bsize);
      const before = await trial.mounted(made, capacity);
      await expand(trial, made, trial.sizeBytes * 2n);
      const after = await trial.mounted(made, capacity, { mayFormat: false });
      const added = Number(trial.sizeBytes);
      // The metadata of a file system grows with it.
      assert(
        after - before > added / 2,
        `the volume grew by ${added} bytes, its file system by ${after - before}`,
      );
    },
  },
  {
    name: 'expand-never-shrinks',
    behaviour: 'expand to a smaller size changes nothing, whether rejected or not',
    needs: ['expand', 'content'],
    body: async (trial) => {
      const made = await trial.provision();
      const large = await expand(trial, made, trial.sizeBytes * 2n);
      await trial.mounted(made, (path) => writeContent(path, 'large'));
      await kindOf(expand(trial, made, trial.sizeBytes));
      const found = await (await trial.driver()).observe(trial.call(made));
      assert(
        found.sizeBytes === undefined || found.sizeBytes >= large,
        `the volume shrank from ${large} to ${found.sizeBytes ?? 0n} bytes`,
      );
      await trial.mounted(
        made,
        (path) => requireContent(path, 'large', 'after expand to a smaller size'),
        { mayFormat: false },
      );
    },
  },
  {
    name: 'missing-growth-is-reported',
    behaviour: 'expand of a driver without expansion is Unsupported',
    needs: [],
    body: async (trial) => {
      if (trial.capabilities.expand) trial.leaveOut('the driver expands volumes');
      const made = await trial.provision();
      const expanded = expand(trial, made, trial.sizeBytes * 2n);
      await requireKind('expand', expanded, 'Unsupported');
    },
  },
];
