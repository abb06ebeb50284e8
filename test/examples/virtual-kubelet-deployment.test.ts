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
import { type ControlPlane, controlPlaneAvailable, freePorts, startControlPlane } from '../support/control-plane.ts';
import { type Json, KubeHTTP } from '../support/kube-http.ts';
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

/** Of the Deployment, as far as it is read here. */
interface Container {
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly readinessProbe: Probe;
  readonly livenessProbe: Probe;
}

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
}

// The process has the permissions of deployment.yaml and no others; the API server decides who may read logs.
describe.skipIf(why !== '')(`examples/virtual-kubelet-provider/deployment.ts${why && ` (skipped: ${why})`}`, () => {
  const cloud = new Cloud({ failures: 0, slowMs: 10, forgotten: 0 });
  let controlPlane: ControlPlane;
  let admin: KubeHTTP;
  let folder: string;
  let child: ChildProcess;
  let healthURL: string;
  /** By kind, as the API server has them. */
  const applied = new Map<string, Json>();
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
    const [healthPort] = await freePorts(1);
    healthURL = `http://127.0.0.1:${healthPort}`;
    child = spawn(process.execPath, [program], {
      env: {
        ...process.env,
        ...{ KUBECONFIG: join(folder, 'provider.kubeconfig'), CLOUD_URL: await cloud.start(), IDENTITY: 'a' },
        ...{
          POD_IP: '127.0.0.1',
          PORT: '0',
          HEALTH_PORT: String(healthPort),
          CERT_DIRECTORY: folder,
          CLIENT_CA_FILE: join(folder, 'ca.crt'),
        },
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
    const { status, body } = await admin.request(
      'POST',
      `${group}${namespace}/${kind.toLowerCase()}s?fieldValidation=Strict`,
      {
        body: manifest,
      },
    );
    expect({ status, body }).toMatchObject({ status: 201 });
    applied.set(kind, body);
  }

  async function kubectl(...args: string[]): Promise<string> {
    const env = { ...process.env, KUBECONFIG: join(folder, 'admin.kubeconfig') };
    const { stdout } = await promisify(execFile)('kubectl', args, { env, timeout: 60_000 });
    return stdout;
  }

  /** The status code of a probe of the Deployment, with the reasons if it fails. */
  async function probe(name: 'livenessProbe' | 'readinessProbe'): Promise<{ status: number; text: string }> {
    const [container] = applied.get('Deployment').spec.template.spec.containers as readonly Container[];
    const { path, port } = container![name].httpGet;
    expect(container!.ports.map((one) => one.name)).toContain(port);
    const response = await fetch(`${healthURL}${path}`);
    return { status: response.status, text: await response.text() };
  }

  it('makes its Nodes Ready, passes its probes, and has metrics and a page', async () => {
    const watch = await admin.watch('/api/v1/nodes?watch=true&resourceVersion=0');
    const ready = new Set<string>();
    for await (const { object } of watch) {
      const { type, status } = object.status?.conditions?.find((one: Json) => one.type === 'Ready') ?? {};
      if (type !== undefined && status === 'True') ready.add(object.metadata.name);
      if (ready.size === 3) break;
    }
    watch.close();
    expect([...ready].toSorted()).toEqual(['cloud-a', 'cloud-b', 'cloud-c']);
    await expect.poll(() => probe('readinessProbe'), { timeout: 30_000 }).toEqual({ status: 200, text: 'ok' });
    expect(await probe('livenessProbe')).toEqual({ status: 200, text: 'ok' });
    expect(await (await fetch(`${healthURL}/metrics`)).text()).toContain(
      '\nkubelet_node_agent_replica_owned_nodes 3\n',
    );
    expect(await (await fetch(`${healthURL}/statusz/pods.json`)).json()).toMatchObject({
      nodes: ['cloud-a', 'cloud-b', 'cloud-c'].map((nodeName) => ({
        ...{ nodeName, state: 'running', owner: expect.stringMatching(/^a-/) },
      })),
    });
  }, 120_000);

  it('is not ready while the cloud is down, says why, and is not restarted for it', async () => {
    cloud.isDown = true;
    await expect
      .poll(() => probe('readinessProbe'), { timeout: 60_000 })
      .toEqual({
        status: 500,
        text: expect.stringMatching(/\[-\]list failed: the pods of the provider cannot be listed since /),
      });
    expect(await probe('livenessProbe')).toMatchObject({ status: 200 });
    cloud.isDown = false;
    await expect.poll(() => probe('readinessProbe'), { timeout: 60_000 }).toMatchObject({ status: 200 });
  }, 150_000);

  it('has a PodDisruptionBudget that selects the pods of the Deployment, and annotations that name the port of metrics', () => {
    const { metadata, spec } = applied.get('Deployment').spec.template;
    expect(metadata.labels).toMatchObject(applied.get('PodDisruptionBudget').spec.selector.matchLabels);
    const health = spec.containers[0].ports.find((port: Json) => port.name === 'health');
    expect(metadata.annotations['prometheus.io/port']).toBe(String(health.containerPort));
  });

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
