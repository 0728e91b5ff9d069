import { basename } from 'node:path';

/**
 * The remedy for a device whose growth the node has not noticed, by the kind of the device. SCSI and NVMe have files
 * of sysfs. The kernel reads the size of a virtio-blk or Xen disk when the hypervisor reports a change, and has no
 * file for it.
 */
export function sizeReadAgain(device: string): string {
  const name = basename(device);
  if (name.startsWith('sd'))
    return `read its size again (echo 1 > /sys/class/block/${name}/device/rescan)`;
  // With native multipath, the device of a namespace is not its controller: so all controllers read again.
  if (name.startsWith('nvme'))
    return 'read its size again (echo 1 | tee /sys/class/nvme/nvme*/rescan_controller)';
  if (name.startsWith('loop')) return `read its size again (losetup --set-capacity ${device})`;
  const again =
    'stop the instances that use the volume, so that it is detached, and start them again';
  return /^x?vd/.test(name)
    ? `wait, because the kernel reads the size of a virtio or Xen disk itself; if it does not, ${again}`
    : again;
}
