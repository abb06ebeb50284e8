import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { Cloud } from '../../examples/virtual-kubelet-provider/cloud.ts';
import { NodeWatcher } from '../chaos/replicas/node-watcher.ts';
import { type ControlPlane, controlPlaneAvailable, startControlPlane } from '../support/control-plane.ts';
import { type Json, KubeHTTP } from '../support/kube-http.ts';
import { DeployedProcess } from './deployed-process.ts';
import { agentIsBuilt } from './node-agent/run-agent.ts';

const folderOf = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const program = folderOf('dist/examples/virtual-kubelet-provider/deployment.js');
const why = !agentIsBuilt
  ? 'run `npm run build` first'
  : spawnSync('kubectl', ['version', '--client']).error !== undefined
    ? 'kubectl is not installed'
    : controlPlaneAvailable().reason;
const nodeNames = ['cloud-a', 'cloud-b', 'cloud-c'];
const passed = { status: 200, text: 'ok' };

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly namespace?: string };
}

// The processes have the permissions of deployment.yaml and no others; the API server decides who may read logs.
describe.skipIf(why !== '')(`examples/virtual-kubelet-provider/deployment.ts${why && ` (skipped: ${why})`}`, () => {
  const cloud = new Cloud({ failures: 0, slowMs: 10, forgotten: 0 });
  let cloudURL: string;
  let controlPlane: ControlPlane;
  let admin: KubeHTTP;
  let folder: string;
  let processes: DeployedProcess[] = [];
  let started = 0;
  /** By kind, as the API server has them. */
  const applied = new Map<string, Json>();
  const pods = '/api/v1/namespaces/default/pods';

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'virtual-nodes-'));
    controlPlane = await startControlPlane({ pki: true });
    admin = new KubeHTTP({ ...controlPlane, token: controlPlane.adminToken });
    cloudURL = await cloud.start();
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
    for (let i = 0; i < applied.get('Deployment').spec.replicas; i++) await startProcess();
    for (const node of nodeNames) await createPod(`on-${node}`, node);
  });
  afterAll(async () => {
    await Promise.all(processes.map((each) => each.end('SIGKILL')));
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

  async function createPod(name: string, nodeName: string): Promise<void> {
    const spec = { nodeName, containers: [{ name: 'app', image: 'web:1' }], terminationGracePeriodSeconds: 1 };
    await admin.request('POST', pods, { body: { apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec } });
  }

  async function untilRunning(name: string): Promise<void> {
    const phase = async () => (await admin.request('GET', `${pods}/${name}`)).body.status.phase;
    await expect.poll(phase, { timeout: 60_000 }).toBe('Running');
  }

  async function startProcess(): Promise<DeployedProcess> {
    const [container] = applied.get('Deployment').spec.template.spec.containers;
    const certificates = await mkdtemp(join(folder, 'certificates-'));
    const values = {
      ...{ CLOUD_URL: cloudURL, POD_IP: '127.0.0.1' },
      ...{ CERT_DIRECTORY: certificates, CLIENT_CA_FILE: join(folder, 'ca.crt') },
    };
    const more = { KUBECONFIG: join(folder, 'provider.kubeconfig') };
    const added = await DeployedProcess.start(program, container, `virtual-nodes-${started++}`, values, more);
    processes.push(added);
    return added;
  }

  async function kubectl(...args: string[]): Promise<string> {
    const env = { ...process.env, KUBECONFIG: join(folder, 'admin.kubeconfig') };
    const { stdout } = await promisify(execFile)('kubectl', args, { env, timeout: 60_000 });
    return stdout;
  }

  /** The processes that run each node, as they say, and those that any of them takes for its owner. */
  async function runners(): Promise<Record<string, readonly string[]>> {
    const rows = await Promise.all(
      processes.map(async (each) => (await each.nodes()).map((row) => ({ ...row, in: each.identity }))),
    );
    return Object.fromEntries(
      nodeNames.map((name) => {
        const ofNode = rows.flat().filter(({ nodeName }) => nodeName === name);
        const running = ofNode.filter(({ state }) => state === 'running').map((row) => row.in as string);
        const owners = new Set(ofNode.map(({ owner }) => String(owner).replace(/-[^-]*$/, '')));
        return [name, running.length === 0 ? [] : [...new Set([...running, ...owners])]];
      }),
    );
  }

  /** Waits until each node runs in exactly one process, which all know. Resolves with its name by node. */
  async function untilOneRunsEach(timeout: number): Promise<Record<string, string>> {
    let last: Record<string, readonly string[]> = {};
    const counts = async () => Object.values((last = await runners())).map(({ length }) => length);
    await expect.poll(counts, { timeout }).toEqual([1, 1, 1]);
    return Object.fromEntries(Object.entries(last).map(([node, [runner = '']]) => [node, runner]));
  }

  async function untilReady(each: DeployedProcess): Promise<void> {
    await expect.poll(() => each.probe('readinessProbe').catch(String), { timeout: 60_000 }).toEqual(passed);
  }

  /** Of the instances in the cloud. */
  function starts(): string[] {
    return [...cloud.instances.values()].map(({ name, startedAt }) => `${name} ${startedAt}`).toSorted();
  }

  it('makes its Nodes Ready, each in one of three processes, whose probes pass, with metrics and a page', async () => {
    const watch = await admin.watch('/api/v1/nodes?watch=true&resourceVersion=0');
    const ready = new Set<string>();
    for await (const { object } of watch) {
      const { type, status } = object.status?.conditions?.find((one: Json) => one.type === 'Ready') ?? {};
      if (type !== undefined && status === 'True') ready.add(object.metadata.name);
      if (ready.size === 3) break;
    }
    watch.close();
    expect([...ready].toSorted()).toEqual(nodeNames);
    expect(processes).toHaveLength(3);
    let owned = 0;
    for (const each of processes) {
      await untilReady(each);
      expect(await each.probe('livenessProbe')).toEqual(passed);
      const { text } = await each.get('/metrics');
      owned += Number(/^kubelet_node_agent_replica_owned_nodes (\d+)$/m.exec(text)![1]);
    }
    expect(owned).toBe(3);
    await untilOneRunsEach(60_000);
  }, 120_000);

  it('is not ready while the cloud is down, says why, and is not restarted for it', async () => {
    cloud.isDown = true;
    for (const each of processes) {
      await expect
        .poll(() => each.probe('readinessProbe'), { timeout: 60_000 })
        .toEqual({
          status: 500,
          text: expect.stringMatching(/\[-\]list failed: the pods of the provider cannot be listed since /),
        });
      expect(await each.probe('livenessProbe')).toEqual(passed);
    }
    cloud.isDown = false;
    for (const each of processes) await untilReady(each);
  }, 150_000);

  it('has a PodDisruptionBudget that selects the pods of the Deployment, and annotations that name the port of metrics', () => {
    const { metadata, spec } = applied.get('Deployment').spec.template;
    expect(metadata.labels).toMatchObject(applied.get('PodDisruptionBudget').spec.selector.matchLabels);
    const health = spec.containers[0].ports.find((port: Json) => port.name === 'health');
    expect(metadata.annotations['prometheus.io/port']).toBe(String(health.containerPort));
  });

  it('serves kubectl logs and exec of the pods of all nodes', async () => {
    for (const node of nodeNames) {
      await untilRunning(`on-${node}`);
      expect(await kubectl('logs', `on-${node}`)).toBe(`on-${node} has started\n`);
      expect(await kubectl('exec', `on-${node}`, '--', 'echo', node)).toBe(`${node}\n`);
      expect(await kubectl('logs', `on-${node}`, '--tail=1')).toBe(`exec echo ${node}\n`);
    }
    await expect(kubectl('exec', 'on-cloud-a', '--', 'true')).rejects.toMatchObject({
      code: 127,
      stdout: 'true: not found\n',
    });
  });

  it('killed without warning, a process loses its nodes to the others within the 20 s that are promised, and the pods go on', async () => {
    const before = starts();
    const watcher = new NodeWatcher(admin);
    watcher.start();
    onTestFinished(() => watcher.stop());
    const { 'cloud-a': owner } = await untilOneRunsEach(60_000);
    const [killed, ...others] = processes.toSorted((a) => (a.identity === owner ? -1 : 1));
    processes = others;
    await killed!.end('SIGKILL');
    // The promise, and what a busy machine takes.
    const { 'cloud-a': successor } = await untilOneRunsEach(25_000);
    expect(others.map(({ identity }) => identity)).toContain(successor);
    // The Node has the successor's port.
    await expect.poll(() => kubectl('logs', 'on-cloud-a')).toContain('on-cloud-a has started\n');
    await untilReady(await startProcess());
    await watcher.stop();
    expect([watcher.violations, starts()]).toEqual([[], before]);
    await createPod('later', 'cloud-a');
    await untilRunning('later');
  }, 150_000);

  it('a rolling restart, as far as the PodDisruptionBudget permits, leaves no Node without a renewal of its Lease', async () => {
    const { maxUnavailable } = applied.get('PodDisruptionBudget').spec;
    expect(maxUnavailable).toBe(1);
    const before = starts();
    const watcher = new NodeWatcher(admin);
    watcher.start();
    onTestFinished(() => watcher.stop());
    for (const each of [...processes]) {
      for (const one of processes) await untilReady(one);
      processes = processes.filter((one) => one !== each);
      expect(await each.end('SIGTERM')).toEqual([0, null]);
      expect(each.livenessFailures).toEqual([]);
      await untilOneRunsEach(25_000);
      await untilReady(await startProcess());
    }
    await untilOneRunsEach(25_000);
    await watcher.stop();
    expect([watcher.violations, starts()]).toEqual([[], before]);
    // 10 s from one renewal to the next, 2 s until the next owner has the node, and what a busy machine takes.
    expect(watcher.longestLeaseAgeMs).toBeLessThan(20_000);
  }, 240_000);

  it('ends on SIGTERM, and hands its nodes over', async () => {
    const ended = await Promise.all(processes.map((each) => each.end('SIGTERM')));
    expect(ended).toEqual(processes.map(() => [0, null]));
    expect(processes.flatMap(({ livenessFailures }) => livenessFailures)).toEqual([]);
    const { body } = await admin.request('GET', '/apis/coordination.k8s.io/v1/namespaces/virtual-nodes/leases');
    const holders = (body.items as readonly { spec: { holderIdentity?: string } }[]).map((one) => one.spec);
    expect(holders.filter(({ holderIdentity }) => holderIdentity)).toEqual([]);
  });
});
