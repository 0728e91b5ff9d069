// Builds kedge_<version>_<architecture>.deb: both programs as bundles, a systemd unit and the guides.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundle } from './bundle.mjs';
import { root } from '../steps.mjs';

/** The names of an architecture in Debian and in Node. */
export const architectures = { amd64: 'linux-x64', arm64: 'linux-arm64' };

const maintainerScripts = ['postinst', 'prerm', 'postrm'];

function control(version, architecture, installedKiB) {
  return `Package: kedge
Version: ${version}
Architecture: ${architecture}
Maintainer: Kedge maintainers <maintainers@kedge.dev>
Section: admin
Priority: optional
Installed-Size: ${installedKiB}
Depends: nodejs (>= 20.19), util-linux, bsdutils, mount
Recommends: e2fsprogs
Suggests: xfsprogs
Description: Services with their storage on one machine
 kedged runs services, provisions the volumes that they claim and mounts them.
 kedge is its command line. Data is in /var/lib/kedge.
 .
 Debian 12 has an older nodejs: version 20.19 or newer is at https://nodejs.org
 and in the repositories of https://github.com/nodesource/distributions.
`;
}

/** The guides in the package. */
const pages = ['operating.md', 'storage.md', 'workloads.md', 'access.md'];

/** A page without the links that lead to files outside the package. */
function alone(text) {
  return text.replace(/\[([^\]]+)\]\((?!https?:)([^)#]*)(#[^)]*)?\)/g, (link, label, target) =>
    target === '' || pages.includes(target) ? link : label,
  );
}

function write(file, text, mode = 0o644) {
  writeFileSync(file, text, { mode });
}

/** Builds the package into `folder`; returns the path of the file. */
export async function debianPackage(folder, architecture) {
  const { version } = JSON.parse(readFileSync(join(root, 'cmd/package.json'), 'utf8'));
  const tree = mkdtempSync(join(tmpdir(), 'kedge-deb-'));
  try {
    const at = (path) => {
      mkdirSync(join(tree, path), { recursive: true, mode: 0o755 });
      return join(tree, path);
    };
    const licences = await bundle(at('usr/lib/kedge'), architectures[architecture]);
    const bin = at('usr/bin');
    for (const program of ['kedge', 'kedged'])
      symlinkSync(`../lib/kedge/bin/${program}.mjs`, join(bin, program));
    const debian = (name) => readFileSync(join(root, 'cmd/debian', name), 'utf8');
    write(join(at('lib/systemd/system'), 'kedged.service'), debian('kedged.service'));
    write(join(at('etc/kedge'), 'kedged.toml'), debian('kedged.toml'));
    const documents = at('usr/share/doc/kedge');
    for (const page of pages)
      write(join(documents, page), alone(readFileSync(join(root, 'docs/guides', page), 'utf8')));
    const licence = readFileSync(join(root, 'LICENSE'), 'utf8');
    write(join(documents, 'copyright'), `${licence}\n${'-'.repeat(80)}\n\n${licences}`);
    const meta = at('DEBIAN');
    const size = execFileSync('du', ['-sk', tree], { encoding: 'utf8' }).split('\t')[0];
    write(join(meta, 'control'), control(version, architecture, size));
    write(join(meta, 'conffiles'), '/etc/kedge/kedged.toml\n');
    for (const name of maintainerScripts) write(join(meta, name), debian(name), 0o755);
    // Makes directories of mkdtemp or with a strict umask readable for all users.
    execFileSync('chmod', ['-R', 'u=rwX,go=rX', tree]);
    mkdirSync(folder, { recursive: true });
    const file = join(folder, `kedge_${version}_${architecture}.deb`);
    execFileSync('dpkg-deb', ['--root-owner-group', '--build', tree, file], { stdio: 'pipe' });
    return file;
  } finally {
    rmSync(tree, { recursive: true, force: true });
  }
}
