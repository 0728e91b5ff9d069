import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { installationAt } from './installation.js';

const checkout = fileURLToPath(new URL('../../', import.meta.url));

describe('the commands of an installation', () => {
  it('start the daemon of the Debian package, and no second one beside it', () => {
    const { kedge, start, firstToken } = installationAt('/', '/usr/lib/', true);
    expect(kedge).to.equal('kedge');
    expect(start).to.equal('sudo systemctl start kedged');
    expect(firstToken).to.contain('/v1/admin/bootstrap | kedge login').and.not.contain('--local');
    expect(installationAt('/', '/usr/lib/', false).start).to.equal(
      'sudo kedged --config /etc/kedge/kedged.toml',
    );
  });

  it('start a daemon for one local user in the other installations', () => {
    const global = installationAt('/', '/usr/lib/node_modules/@kedge/', true);
    expect(global.start).to.equal('kedged --local');
    expect(global.firstToken).to.equal('run "kedged --local" for a local daemon');
    expect(installationAt(checkout, checkout, true).start).to.equal('npm start');
    expect(installationAt('/', checkout, true).start).to.equal(
      `npm --prefix ${checkout.replace(/\/$/, '')} start`,
    );
  });
});
