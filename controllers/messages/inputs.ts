import { messageForm } from '@kedge/driver-sdk/messages';

/**
 * Messages about a secret or configmap that does not exist, lacks a key, or has an empty value for it. `object` is
 * `<namespace>/<name>`.
 */
export const inputMessages = {
  secret: {
    missing: messageForm('secret {object} does not exist'),
    keyMissing: messageForm('secret {object} has no key "{key}"'),
    keyEmpty: messageForm('secret {object} has an empty value for key "{key}"'),
  },
  configmap: {
    missing: messageForm('configmap {object} does not exist'),
    keyMissing: messageForm('configmap {object} has no key "{key}"'),
  },
} as const;

/** A directory of a volume that can't be mounted. */
export const subPathRefused = messageForm('subPath "{subPath}"');

/** A directory of a volume that only root can mount. */
export const subPathNeedsRoot = messageForm('subPath "{subPath}" needs a kedged that runs as root');
