import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { finish } from '../acceptance/daemon.js';

/** A daemon of an installation that is configured only by its environment. */
async function start(
  env: Readonly<Record<string, string | undefined>>,
  cwd: string,
): Promise<{ readonly child: ChildProcess; readonly greeting: string }> {
  const child = spawn('kedged', ['--local'], { cwd, env: { ...process.env, ...env } });
  let output = '';
  child.stdout.on('data', (data) => (output += String(data)));
  child.stderr.on('data', (data) => (output += String(data)));
  let exit: string | undefined;
  child.on('error', (error) => (exit = error.message));
  child.on('close', (code, signal) => (exit = `exit code ${code ?? signal}`));
  await eventually(
    'the greeting',
    () => {
      if (exit !== undefined) throw new Error(`kedged ended with ${exit}: ${output}`);
      return output.includes('Ctrl-C stops it');
    },
    90_000,
  );
  return { child, greeting: output };
}

function end(child: ChildProcess, signal: NodeJS.Signals): Promise<unknown> {
  const ended = new Promise((resolve) => child.on('exit', resolve));
  child.kill(signal);
  return ended;
}

/** A class whose driver needs a package that is not installed, and a volume of it. */
const withoutPackage = `kind: StorageClass
name: ebs
driver: cloud3-block
parameters: { region: eu-central-1, availabilityZone: eu-central-1a }
---
kind: Volume
name: disk
storageClassName: ebs
size: 1Gi
accessMode: ReadWriteOnce`;

/**
 * Uses an installation like a new user: the output of the first start, a command inside the workload, a volume whose
 * driver needs a further package, a daemon that is killed and started again, and a graceful stop.
 * @param install the command that installs a package for this installation, without the name of the package
 */
export async function tryOut(bin: string, home: string, install: string): Promise<void> {
  const cwd = join(home, 'elsewhere');
  const host = join(home, 'host');
  mkdirSync(cwd);
  mkdirSync(host, { mode: 0o700 });
  const any = '127.0.0.1:0';
  const env = {
    PATH: `${bin}:${process.env['PATH'] ?? ''}`,
    HOME: home,
    XDG_CONFIG_HOME: join(home, 'config'),
    NO_COLOR: '1',
    KEDGE_STORE_PATH: join(home, 'data'),
    KEDGE_SERVER_GRPC_ADDRESS: any,
    KEDGE_SERVER_REST_ADDRESS: any,
    KEDGE_SERVER_OPS_ADDRESS: any,
    KEDGE_STORAGE_HOST_PATH_ALLOWLIST: host,
  };
  const run = async (line: string): Promise<string> => {
    const { code, stdout, stderr } = await finish('sh', ['-c', `cd "${cwd}" && ${line}`], env);
    expect(code, `${line}: ${stdout}${stderr}`).to.equal(0);
    return stdout;
  };
  const first = await start(env, cwd);
  let { child } = first;
  try {
    const [, example = ''] = /kedge cast (\S+)/.exec(first.greeting) ?? [];
    const manifest = readFileSync(example, 'utf8').replaceAll('/var/tmp/kedge', host);
    await run(`kedge cast - <<'END'\n${manifest}\nEND`);
    expect(await run('kedge exec journal-0 -- sh -c "echo inside"')).to.equal('inside\n');
    const [, before = ''] = /entry (\d+) by/.exec(await run('kedge logs journal-0 --tail 1')) ?? [];
    await run(`kedge cast --no-wait - <<'END'\n${withoutPackage}\nEND`);
    await eventually('the command that installs the package', async () =>
      (await run('kedge why volume/disk')).includes(`run: ${install} @aws-sdk/client-ec2@`),
    );
    await run('kedge delete volume disk && kedge delete storageclass ebs');
    await end(child, 'SIGKILL');
    ({ child } = await start(env, cwd));
    const [, after = ''] = /entry (\d+) by/.exec(await run('kedge logs journal-0 --tail 1')) ?? [];
    expect(Number(after)).to.be.at.least(Number(before));
    await eventually('the adopted instance', async () =>
      /journal-0 .* Running +0 /.test(await run('kedge get instances')),
    );
    await run('kedge delete service journal');
  } finally {
    await end(child, 'SIGTERM');
  }
}
