import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { finish, root } from '../acceptance/daemon.js';

describe('the unit of the Debian package', () => {
  it('is stopped before the container engine and the file systems, so that workloads have their grace', () => {
    const unit = readFileSync(join(root, 'cmd/debian/kedged.service'), 'utf8');
    const [, after = ''] = /^After=(.*)$/m.exec(unit) ?? [];
    expect(after.split(' ')).to.include.members(['docker.service', 'remote-fs.target']);
  });
});

describe('postinst of the Debian package where systemd runs', () => {
  let home: string;

  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'kedge-postinst-'));
  });
  afterEach(() => rmSync(home, { recursive: true, force: true }));

  /** Runs the script with a systemctl that reports a state of the unit; returns the output with the calls. */
  async function configured(
    earlier: string,
    unit: { readonly active: boolean; readonly enabled: boolean },
  ): Promise<string> {
    const running = join(home, 'running');
    mkdirSync(running);
    const code = (holds: boolean): number => (holds ? 0 : 1);
    const systemctl = `#!/bin/sh
case $1 in
is-active) exit ${code(unit.active)} ;;
is-enabled) exit ${code(unit.enabled)} ;;
*) echo "called: $*" ;;
esac
`;
    writeFileSync(join(home, 'systemctl'), systemctl, { mode: 0o755 });
    const text = readFileSync(join(root, 'cmd/debian/postinst'), 'utf8');
    const script = join(home, 'postinst');
    writeFileSync(script, text.replaceAll('/run/systemd/system', running));
    const done = await finish('sh', [script, 'configure', earlier], {
      PATH: `${home}:${process.env['PATH'] ?? ''}`,
    });
    expect(done.code, done.stderr).to.equal(0);
    return done.stdout;
  }

  it('enables and starts the daemon at the first installation', async () => {
    expect(await configured('', { active: false, enabled: false })).to.contain(
      'called: enable --now kedged.service',
    );
  });

  it('leaves a running daemon to its user, and names the command that replaces it', async () => {
    expect(await configured('0.1.0', { active: true, enabled: true }))
      .to.contain('systemctl kill --kill-whom=main --signal=KILL kedged')
      .and.not.contain('called: enable');
  });

  it('names the command that starts the daemon after a removal, which disabled the unit', async () => {
    expect(await configured('0.1.0', { active: false, enabled: false }))
      .to.contain('systemctl enable --now kedged')
      .and.not.contain('called: enable');
  });

  it('says nothing about a daemon that its user stopped', async () => {
    expect(await configured('0.1.0', { active: false, enabled: true })).to.equal(
      'called: daemon-reload\n',
    );
  });
});
