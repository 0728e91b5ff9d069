import { existsSync } from 'node:fs';
import { mkdir, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { boxId, daemonOfEach, everybody, uidOf } from './box.js';
import { half } from '../fixtures/seed.js';

const name = `kedge-temporary-${process.pid}`;
/** Leaves a directory that its user can't list, and a path that is longer than the system accepts. */
const obstruct = `mkdir -p /tmp/closed/below && chmod 0 /tmp/closed && cd /var/tmp && n=0 && while [ $n -lt 20 ]; do d=$(printf %0202d $n) && mkdir $d && cd $d && n=$((n + 1)) || exit 1; done`;

for (const who of half('temporary files', everybody))
  describe(`temporary files of a process workload of ${who}`, function () {
    this.timeout(180_000);
    const current = daemonOfEach(who);

    const runs = () => join(current.daemon.base, 'data/instances', boxId);
    const script = (text: string): readonly string[] => ['/bin/sh', '-c', text];

    it('are in directories of its run that the machine and its users do not see', async () => {
      const print = 'stat -c "%a %U" /tmp /var/tmp; grep -E " (/var)?/tmp " /proc/self/mountinfo';
      await current.daemon.run(
        script(`echo own >/tmp/${name}; echo own >/var/tmp/${name}; ${print}; exec sleep 600`),
      );
      await eventually('its mounts', async () =>
        (await current.daemon.log()).includes('/var/tmp rw'),
      );
      const lines = (await current.daemon.log()).trim().split('\n');
      expect(lines.slice(0, 2).map((line) => line.split(' ')[0])).to.deep.equal(['1777', '1777']);
      for (const line of lines.slice(2)) expect(line).to.match(/ rw,nosuid,nodev[, ]/);
      for (const place of ['/tmp', '/var/tmp'])
        expect(existsSync(join(place, name)), place).to.equal(false);
      const { output } = await current.daemon.exec(script(`cat /tmp/${name} /var/tmp/${name}`));
      expect(output).to.equal('own\nown\n');
      expect((await stat(join(runs(), 'run-1'))).mode & 0o777).to.equal(0o700);
    });

    it('are those of its run alone, and are removed, regardless of their modes and paths', async () => {
      const print = 'ls -A /tmp /var/tmp';
      await current.daemon.run(script(`${print}; ${obstruct}; echo code $?`));
      await current.daemon.ended();
      expect(await current.daemon.log()).to.contain('code 0');
      await current.daemon.run(script(`${print}; ${obstruct}; echo code $?; exec sleep 600`));
      await eventually('the second run', async () =>
        expect((await current.daemon.log()).split('/tmp:\n\n/var/tmp:\ncode 0\n')).to.have.length(
          3,
        ),
      );
      await eventually('the files of the first run to be removed', async () =>
        expect((await readdir(runs())).filter((each) => each.startsWith('run-'))).to.deep.equal([
          'run-2',
        ]),
      );
      await current.daemon.succeed({ type: 'requestStop', id: boxId, graceMs: 0 });
      await current.daemon.ended();
      await current.daemon.succeed({ type: 'remove', id: boxId });
      expect(await readdir(join(current.daemon.base, 'data/instances'))).to.deep.equal([]);
    });

    it('can have volumes among them, to which nothing is written for another volume', async () => {
      const source = join(current.daemon.base, 'volume');
      await mkdir(join(source, 'kept'));
      const mounts = [
        { source, target: '/tmp/a', readOnly: true },
        { source, target: '/var/tmp/b/c', readOnly: false },
        {
          source: join(current.daemon.base, 'shared/own'),
          target: '/tmp/a/new/d',
          readOnly: false,
        },
      ];
      await current.daemon.run(
        script(
          'for f in /tmp/a/new/d/e /tmp/f /var/tmp/b/c/g /var/tmp/h /tmp/a/i; do touch $f; done; ls /tmp/a',
        ),
        { mounts },
      );
      await current.daemon.ended();
      expect(await current.daemon.log())
        .to.match(/kept\nnew\n$/)
        .and.contain("touch: cannot touch '/tmp/a/i'")
        .and.not.match(/'\/tmp\/f'|\/h'/);
      expect((await readdir(source)).sort()).to.deep.equal(['g', 'kept']);
      expect(await readdir(join(current.daemon.base, 'shared/own'))).to.deep.equal(['e']);
    });

    it('of the machine can’t hold its command or working directory, and the refusal says why', async () => {
      const refused = async (change: { command?: string; workingDir?: string }) => {
        await current.daemon.run([change.command ?? '/bin/true'], {
          ...(change.workingDir !== undefined && { workingDir: change.workingDir }),
        });
        await current.daemon.ended();
        return current.daemon.log();
      };
      expect(await refused({ command: `/tmp/${name}/program` })).to.contain(
        `command /tmp/${name}/program does not exist; /tmp and /var/tmp are empty directories of each run: mount a volume, or keep the file elsewhere`,
      );
      expect(await refused({ workingDir: `/var/tmp/${name}` })).to.contain(
        `/var/tmp/${name} does not exist, or can't be entered; /tmp and /var/tmp are empty`,
      );
    });

    if (who === 'root')
      it('can be created by the user of the workload', async () => {
        await current.daemon.run(
          script(`: >/tmp/${name} && : >/var/tmp/${name} && stat -c %u /tmp/${name}`),
          { user: 'nobody' },
        );
        expect(await current.daemon.ended()).to.include({ exitCode: 0 });
        expect((await current.daemon.log()).trim()).to.equal(String(uidOf('an ordinary user')));
      });
  });
