import { mkdir } from 'node:fs/promises';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { type Finished, finish, root, TestDaemon } from '../daemon.js';

const kedged = join(root, 'cmd/bin/kedged.mjs');
const kedge = join(root, 'cmd/bin/kedge.mjs');

/** A start with the local profile on a data directory, with the user's tokens below `config`. */
function start(data: string, grpc: string, config: string): Promise<Finished> {
  const any = '127.0.0.1:0';
  const addresses = ['--grpc-address', grpc, '--rest-address', any, '--ops-address', any];
  return finish(process.execPath, [kedged, '--local', '--data-directory', data, ...addresses], {
    XDG_CONFIG_HOME: config,
    KEDGE_STORAGE_HOST_PATH_ALLOWLIST: data,
  });
}

describe('the first start of a local daemon', function () {
  this.timeout(300_000);

  const failsFirst = async (
    firstStart: (data: string) => Promise<Finished>,
    expected: RegExp,
  ): Promise<void> => {
    const daemon = await TestDaemon.start({
      arguments: ['--local'],
      prepare: async (data) => {
        await mkdir(data, { recursive: true, mode: 0o700 });
        const { code, stderr } = await firstStart(data);
        expect(code, stderr).to.equal(1);
        expect(stderr).to.match(expected).and.not.contain('"msg":"ready"');
      },
    });
    try {
      const who = await daemon.cli('whoami');
      expect(who.code, who.stderr).to.equal(0);
      expect(who.stdout).to.match(/^root /m);
    } finally {
      await daemon.dispose();
    }
  };

  it('with a port in use keeps the created access of its user', async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    try {
      const address = `127.0.0.1:${(other.address() as { readonly port: number }).port}`;
      await failsFirst(
        (data) => start(data, address, join(dirname(data), 'config')),
        /can't listen on .*; stop the process that uses the address, or choose another one/,
      );
    } finally {
      other.close();
    }
  });

  it('that can not store the access creates none, and reports the reason', async () => {
    await failsFirst(
      (data) => start(data, '127.0.0.1:0', '/dev/null/config'),
      /\/dev\/null\/config\/kedge\/config.yaml can't be (read|written) \(ENOTDIR.*XDG_CONFIG_HOME/,
    );
  });

  it('in a directory that can not be created names the directory and the setting', async () => {
    const { code, stderr } = await start('/dev/null/data', '127.0.0.1:0', '/dev/null/config');
    expect(code, stderr).to.equal(1);
    expect(stderr).to.match(
      /data directory \/dev\/null\/data can't be created \(ENOTDIR.*--data-directory/,
    );
  });
});

describe('kedge login if its file can not be written', function () {
  this.timeout(180_000);

  it('names the file, and the variables to set instead', async () => {
    const daemon = await TestDaemon.start();
    try {
      const result = await finish(
        'sh',
        ['-c', 'echo "$TOKEN" | "$0" "$1" login --server "$SERVER"', process.execPath, kedge],
        { TOKEN: daemon.token, SERVER: daemon.grpcAddress, XDG_CONFIG_HOME: '/dev/null/config' },
      );
      expect(result.code, result.stderr).to.equal(1);
      expect(result.stderr).to.contain('/dev/null/config/kedge/config.yaml');
      expect(result.stderr).to.contain('XDG_CONFIG_HOME').and.contain('KEDGE_TOKEN');
    } finally {
      await daemon.dispose();
    }
  });
});
