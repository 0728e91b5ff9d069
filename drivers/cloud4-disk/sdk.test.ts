import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const require = createRequire(import.meta.url);

/** Uses of the SDK as in the driver, against its own types. */
const uses = `
import * as compute from '@google-cloud/compute';
import * as auth from 'google-auth-library';
import type * as ours from 'DRIVER/sdk.js';
import { protos } from '@google-cloud/compute';
import I = protos.google.cloud.compute.v1;

export const disks: ours.DisksSdk = new compute.DisksClient();
export const instances: ours.InstancesSdk = new compute.InstancesClient();
export const snapshots: ours.SnapshotsSdk = new compute.SnapshotsClient();
export const zoneOperations: ours.OperationsSdk = new compute.ZoneOperationsClient();
export const globalOperations: ours.OperationsSdk = new compute.GlobalOperationsClient();
export const jwt: ours.AuthClient = new auth.JWT({ email: '', key: '', keyId: '', scopes: [''] });
export const node: Promise<ours.AuthClient> = new auth.GoogleAuth({ scopes: [''] }).getClient();
export const metadata: ours.AuthSdk['gcpMetadata'] = auth.gcpMetadata;

const at = { project: '', zone: '' };
const requestId = '';
export const requests = [
  { ...at, disk: '' } satisfies I.IGetDiskRequest,
  { ...at, maxResults: 1, pageToken: '' } satisfies I.IListDisksRequest,
  {
    ...{ ...at, requestId },
    diskResource: { name: '', sizeGb: '', type: '', description: '', sourceSnapshot: '' },
  } satisfies I.IInsertDiskRequest,
  { ...at, requestId, disk: '' } satisfies I.IDeleteDiskRequest,
  {
    ...{ ...at, requestId, disk: '' },
    disksResizeRequestResource: { sizeGb: '' },
  } satisfies I.IResizeDiskRequest,
  { ...at, instance: '' } satisfies I.IGetInstanceRequest,
  {
    ...{ ...at, requestId, instance: '' },
    attachedDiskResource: { source: '', deviceName: '', mode: '', type: '' },
  } satisfies I.IAttachDiskInstanceRequest,
  { ...at, requestId, instance: '', deviceName: '' } satisfies I.IDetachDiskInstanceRequest,
  { project: '', snapshot: '' } satisfies I.IGetSnapshotRequest,
  { project: '', maxResults: 1, pageToken: '' } satisfies I.IListSnapshotsRequest,
  {
    ...{ project: '', requestId },
    snapshotResource: { name: '', sourceDisk: '', description: '' },
  } satisfies I.IInsertSnapshotRequest,
  { project: '', requestId, snapshot: '' } satisfies I.IDeleteSnapshotRequest,
  { ...at, operation: '' } satisfies I.IGetZoneOperationRequest,
  { project: '', operation: '' } satisfies I.IGetGlobalOperationRequest,
  {
    ...{ ...at, resource: '' },
    testPermissionsRequestResource: { permissions: [''] },
  } satisfies I.ITestIamPermissionsDiskRequest & I.ITestIamPermissionsInstanceRequest,
];
`;

describe('the part of the SDK that cloud4-disk uses', function () {
  this.timeout(600_000);
  let folder: string;
  before(async function () {
    try {
      require.resolve('@google-cloud/compute');
    } catch (error) {
      if (process.env['CI']) throw error;
      console.log('skipped: @google-cloud/compute is not installed; npm test installs it');
      this.skip();
    }
    folder = await mkdtemp(join(root, 'node_modules/.kedge-cloud4-types-'));
  });
  after(() => folder && rm(folder, { recursive: true, force: true }));

  it('has the forms that the driver expects, by the types of the SDK', async () => {
    const driver = join(root, 'drivers/dist/cloud4-disk');
    const file = join(folder, 'uses.mts');
    await writeFile(file, uses.replace('DRIVER', driver));
    const options = ['--ignoreConfig', '--noEmit', '--strict', '--skipLibCheck', '--types', 'node'];
    const modules = ['--module', 'nodenext', '--target', 'es2023'];
    const args = [join(root, 'node_modules/.bin/tsc'), ...options, ...modules, file];
    const outcome = await promisify(execFile)(process.execPath, args, { cwd: folder }).then(
      ({ stdout }) => stdout,
      (error: { readonly stdout: string }) => error.stdout,
    );
    expect(outcome).to.equal('');
  });
});
