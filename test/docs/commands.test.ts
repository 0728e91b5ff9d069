import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { TestDaemon, workload } from '../acceptance/daemon.js';

const root = fileURLToPath(new URL('../../..', import.meta.url));

/** Commands for embedders, which another test runs in an empty folder. */
const embedders = /npm install|tsc/;
/** Pages that need a container engine, with the tests that run them. */
const withEngine: Readonly<Record<string, string>> = {
  'clouds-on-a-laptop.md': 'test/emulators/walk-through.test.ts',
  'workloads.md': 'test/containers/workloads-guide.test.ts',
};
const pages = [
  'README.md',
  ...readdirSync(join(root, 'docs/guides'))
    .filter((name) => !(name in withEngine))
    .map((name) => `docs/guides/${name}`),
];

function blocks(language: string): readonly { readonly page: string; readonly text: string }[] {
  return pages.flatMap((page) => {
    const pattern = new RegExp(`\`\`\`${language}\\n([^]*?)\`\`\``, 'g');
    const found = [...readFileSync(join(root, page), 'utf8').matchAll(pattern)];
    return found.map(([, text = '']) => ({ page, text }));
  });
}

/** Lines that a test can't run as they are, with the reasons. */
const elsewhere: Readonly<Record<string, string>> = {
  'npm start': 'the test of npm start types it',
  'npm test': 'it is what runs this',
};

describe('the commands and files in the documentation', function () {
  this.timeout(180_000);
  let daemon: TestDaemon;
  /** A daemon without a token. */
  let fresh: TestDaemon;
  let folder: string;
  let bin: string;
  /** Replacements for placeholder values on the pages. */
  const placeholders = new Map<string, string>();

  /** Runs a line as printed, in the repository's root; with `seconds`, ends it then. */
  function type(
    line: string,
    seconds?: number,
  ): { readonly code: number | null; readonly output: string } {
    let command = line;
    for (const [placeholder, value] of placeholders) command = command.replace(placeholder, value);
    const limited = seconds === undefined ? command : `timeout ${seconds} ${command}`;
    const { status, stdout, stderr } = spawnSync('bash', ['-c', limited], {
      cwd: root,
      encoding: 'utf8',
      input: 'exit\n',
      timeout: 170_000,
      env: {
        ...process.env,
        ...daemon.cliEnvironment,
        PATH: `${bin}:${process.env['PATH'] ?? ''}`,
      },
    });
    return { code: status, output: stdout + stderr };
  }

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'kedge-commands-'));
    bin = join(folder, 'bin');
    mkdirSync(bin);
    for (const name of ['kedge', 'kedged'])
      writeFileSync(
        join(bin, name),
        `#!/bin/sh\nexec "${process.execPath}" "${join(root, `cmd/bin/${name}.mjs`)}" "$@"\n`,
        { mode: 0o755 },
      );
    mkdirSync('/var/tmp/kedge', { recursive: true, mode: 0o700 });
    daemon = await TestDaemon.start({
      environment: { KEDGE_STORAGE_HOST_PATH_ALLOWLIST: '/var/tmp/kedge' },
    });
    fresh = await TestDaemon.start({ bootstrap: false });
    const bootstrap = 'v1/admin/bootstrap';
    placeholders.set(`127.0.0.1:7861/${bootstrap}`, `${fresh.restAddress}/${bootstrap}`);
    // Objects that the pages assume: a service, a namespace, a token to revoke.
    const { service } = workload(daemon, 'web', 'echo started; sleep 1000');
    const web = { ...service, volumes: [] };
    for (const name of ['dev', 'prod']) await daemon.ok('POST', '/v1/namespaces', { name });
    await daemon.ok('POST', '/v1/namespaces/default/services', web);
    await daemon.ok('POST', '/v1/admin/users', { name: 'temporary', policies: ['readonly'] });
    const made = await daemon.cli('token', 'create', 'temporary');
    expect(made.code, made.stderr).to.equal(0);
    const { items } = await daemon.ok('GET', '/v1/auth/tokens');
    const doomed = (items as { name: string; subject: string }[]).find(
      ({ subject }) => subject === 'temporary',
    );
    placeholders.set('0123456789abcdef', doomed?.name ?? 'none');
    await eventually('the service', async () => {
      const { status } = await daemon.ok('GET', '/v1/namespaces/default/services/web');
      return status === 'Running';
    });
  });
  after(async () => {
    await daemon.dispose();
    await fresh.dispose();
    rmSync(folder, { recursive: true, force: true });
  });

  for (const { page, text } of blocks('yaml'))
    it(`a YAML file of ${page} can be cast`, () => {
      const file = join(folder, 'file.yaml');
      writeFileSync(file, text);
      const cast = type(`kedge cast ${file}`);
      expect(cast.code, cast.output).to.equal(0);
      expect(cast.output).to.match(/created/);
    });

  for (const { page, text } of blocks('toml'))
    it(`a configuration of ${page} is valid`, () => {
      const openssl = 'req -x509 -newkey rsa:2048 -nodes -subj /CN=localhost -days 1';
      const keys = ['-keyout', 'server.key', '-out', 'server.crt'];
      execFileSync('openssl', [...openssl.split(' '), ...keys], { cwd: folder, stdio: 'ignore' });
      const own = text.replaceAll('/etc/kedge', folder).replace('clients.crt', 'server.crt');
      const file = join(folder, 'kedged.toml');
      writeFileSync(file, own);
      // Variables override the file: the daemons of the tests have others for the endpoints.
      const unset =
        '-u KEDGE_DRIVERS_CLOUD1_VOLUME_ENDPOINT -u KEDGE_DRIVERS_CLOUD2_VOLUME_ENDPOINT';
      const checked = type(`env ${unset} kedged --config ${file} --check-config`);
      expect(checked.code, checked.output).to.equal(0);
      for (const [, value = ''] of own.matchAll(/= "([^"]*)"/g))
        expect(checked.output).to.contain(value);
    });

  for (const { page, text } of blocks('sh').filter(({ text: block }) => !embedders.test(block))) {
    const lines = text.split('\n').filter((line) => line !== '' && !(line in elsewhere));
    if (lines.length === 0) continue;
    it(`commands of ${page} work as documented: ${lines[0]}`, () => {
      for (const line of lines) {
        // The following commands run until they are ended.
        const endless = line.includes('--follow');
        const { code, output } = type(line, endless ? 15 : undefined);
        expect(code, `${line}\n${output}`).to.equal(endless ? 124 : 0);
        expect(output, line).to.not.equal('');
      }
    });
  }
});
