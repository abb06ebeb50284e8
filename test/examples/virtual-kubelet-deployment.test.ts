import { execFile, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { Cloud } from '../../examples/virtual-kubelet-provider/cloud.ts';
import { type ControlPlane, controlPlaneAvailable, startControlPlane } from '../support/control-plane.ts';
import { KubeHTTP } from '../support/kube-http.ts';
import { agentIsBuilt } from './node-agent/run-agent.ts';

const folderOf = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const program = folderOf('dist/examples/virtual-kubelet-provider/deployment.js');
const why = !agentIsBuilt
  ? 'run `npm run build` first'
  : spawnSync('kubectl', ['version', '--client']).error !== undefined
    ? 'kubectl is not installed'
    : controlPlaneAvailable().reason;

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly namespace?: string };
}

// The process has the permissions of deployment.yaml and no others; the API server decides who may read logs.
describe.skipIf(why !== '')(`examples/virtual-kubelet-provider/deployment.ts${why && ` (skipped: ${why})`}`, () => {
  const cloud = new Cloud({ failures: 0, slowMs: 10, forgotten: 0 });
  let controlPlane: ControlPlane;
  let admin: KubeHTTP;
  let folder: string;
  let child: ChildProcess;
  const pods = '/api/v1/namespaces/default/pods';

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'virtual-nodes-'));
    controlPlane = await startControlPlane({ pki: true });
    admin = new KubeHTTP({ ...controlPlane, token: controlPlane.adminToken });
    await admin.request('POST', '/api/v1/namespaces', {
      body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'virtual-nodes' } },
    });
    const text = await readFile(folderOf('examples/virtual-kubelet-provider/deployment.yaml'), 'utf8');
    for (const manifest of parseAllDocuments(text).map((document) => document.toJS() as Manifest))
      await create(manifest);
    const serviceAccount = '/api/v1/namespaces/virtual-nodes/serviceaccounts/virtual-nodes';
    const { body } = await admin.request('POST', `${serviceAccount}/token`, {
      body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} },
    });
    const config = controlPlane.kubeConfig('admin');
    const users = [{ name: config.users[0]!.name, user: { token: body.status.token } }];
    await writeFile(join(folder, 'provider.kubeconfig'), JSON.stringify({ ...config, users }));
    await writeFile(join(folder, 'admin.kubeconfig'), JSON.stringify(config));
    await writeFile(join(folder, 'ca.crt'), Buffer.from(controlPlane.caData, 'base64'));
    child = spawn(process.execPath, [program], {
      env: {
        ...process.env,
        ...{ KUBECONFIG: join(folder, 'provider.kubeconfig'), CLOUD_URL: await cloud.start(), IDENTITY: 'a' },
        ...{ POD_IP: '127.0.0.1', PORT: '0', CERT_DIRECTORY: folder, CLIENT_CA_FILE: join(folder, 'ca.crt') },
      },
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    for (const node of ['cloud-a', 'cloud-b']) {
      await admin.request('POST', pods, {
        body: {
          ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: `on-${node}` } },
          spec: { nodeName: node, containers: [{ name: 'app', image: 'web:1' }], terminationGracePeriodSeconds: 1 },
        },
      });
    }
  });
  afterAll(async () => {
    child?.kill('SIGKILL');
    await cloud.close();
    await admin?.close();
    await controlPlane?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  async function create(manifest: Manifest): Promise<void> {
    const { apiVersion, kind, metadata } = manifest;
    const group = apiVersion === 'v1' ? '/api/v1' : `/apis/${apiVersion}`;
    const namespace = metadata.namespace === undefined ? '' : `/namespaces/${metadata.namespace}`;
    const { status, body } = await admin.request('POST', `${group}${namespace}/${kind.toLowerCase()}s`, {
      body: manifest,
    });
    expect({ status, body }).toMatchObject({ status: 201 });
  }

  async function kubectl(...args: string[]): Promise<string> {
    const env = { ...process.env, KUBECONFIG: join(folder, 'admin.kubeconfig') };
    const { stdout } = await promisify(execFile)('kubectl', args, { env, timeout: 60_000 });
    return stdout;
  }

  it('serves kubectl logs and exec of the pods of all nodes', async () => {
    for (const node of ['cloud-a', 'cloud-b']) {
      const phase = async () => (await admin.request('GET', `${pods}/on-${node}`)).body.status.phase;
      await expect.poll(phase, { timeout: 60_000 }).toBe('Running');
      expect(await kubectl('logs', `on-${node}`)).toBe(`on-${node} has started\n`);
      expect(await kubectl('exec', `on-${node}`, '--', 'echo', node)).toBe(`${node}\n`);
      expect(await kubectl('logs', `on-${node}`, '--tail=1')).toBe(`exec echo ${node}\n`);
    }
    await expect(kubectl('exec', 'on-cloud-a', '--', 'true')).rejects.toMatchObject({
      code: 127,
      stdout: 'true: not found\n',
    });
  });

  it('ends on SIGTERM, and hands its nodes over', async () => {
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([0, null]);
    const { body } = await admin.request('GET', '/apis/coordination.k8s.io/v1/namespaces/virtual-nodes/leases');
    const holders = (body.items as readonly { spec: { holderIdentity?: string } }[]).map((one) => one.spec);
    expect(holders.filter(({ holderIdentity }) => holderIdentity)).toEqual([]);
  });
});
