import { messageForm } from '@kedge/driver-sdk/messages';

/**
 * Messages about a secret or configmap that does not exist, lacks a key, or has an empty value for it or one that no
 * variable can have. `object` is `<namespace>/<name>`.
 */
export const inputMessages = {
  secret: {
    missing: messageForm('secret {object} does not exist'),
    keyMissing: messageForm('secret {object} has no key "{key}"'),
    keyUnfit: messageForm('secret {object} can\'t be used as variables because of its key "{key}"'),
    keyEmpty: messageForm('secret {object} has an empty value for key "{key}"'),
  },
  configmap: {
    missing: messageForm('configmap {object} does not exist'),
    keyMissing: messageForm('configmap {object} has no key "{key}"'),
    keyUnfit: messageForm(
      'configmap {object} can\'t be used as variables because of its key "{key}"',
    ),
  },
} as const;

/** The in-memory file system of mounted secrets and configmaps is full. */
export const memoryFull = messageForm('the in-memory file system at {path} is full');

/** A directory of a volume that can't be mounted. */
export const subPathRefused = messageForm('subPath "{subPath}"');

/** A directory of a volume that only root can mount. */
export const subPathNeedsRoot = messageForm('subPath "{subPath}" needs a kedged that runs as root');

/** The command that removes a directory that kedged may not remove. Its path is a word of a shell. */
export const removalByRoot = {
  format: (path: string): string => `type: sudo rm -rf ${path}`,
  /**
   * Returns the command in a message; undefined without one. The agent of a node writes messages, so only the directory
   * of a volume or of a workload is accepted, which has its uid as its name.
   */
  commandIn: (message: string): string | undefined => {
    const [, found, path = ''] =
      /type: (sudo rm -rf ('(?:[^']|'\\'')*'|[\w./:@%+,-]+))/.exec(message) ?? [];
    return /\/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'?$/.test(path) ? found : undefined;
  },
} as const;
