// Explains that a checkout, or a part of it, belongs to another user, and what to do.
import { accessSync, constants, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

const folders = ['lib', 'proto', 'drivers/sdk', 'drivers', 'controllers', 'cmd', 'test'];
const written = [
  '.',
  'node_modules',
  ...folders.flatMap((folder) => [`${folder}/dist`, `${folder}/dist/.tsbuildinfo`]),
];

function nameOf(uid) {
  try {
    const line = readFileSync('/etc/passwd', 'utf8')
      .split('\n')
      .find((each) => each.split(':')[2] === String(uid));
    return line ? `${line.split(':')[0]} (uid ${uid})` : `uid ${uid}`;
  } catch {
    return `uid ${uid}`;
  }
}

/** Why this user can't install or build in `root`, and the remedy; undefined if no write there is refused with EACCES. */
export function foreignCheckout(root) {
  const own = process.getuid?.();
  for (const path of written) {
    const whole = join(root, path);
    try {
      accessSync(whole, constants.W_OK);
    } catch (error) {
      if (error.code !== 'EACCES') continue;
      const { uid } = statSync(root);
      if (uid !== own)
        return `This checkout belongs to ${nameOf(uid)}, and you are ${nameOf(own)}: you can't install or build in it. Use your own copy:\n\n  cp -r ${root.replace(/\/$/, '')} ~/kedge && cd ~/kedge && npm start\n`;
      return `${whole} belongs to ${nameOf(statSync(whole).uid)}, and you are ${nameOf(own)}, probably after a start with sudo. Make it yours:\n\n  sudo chown -R ${own}:${process.getgid?.()} ${root.replace(/\/$/, '')}\n`;
    }
  }
  return undefined;
}
