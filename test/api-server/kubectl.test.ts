import { execFile, spawn, spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { APIServer } from '../../src/testing/index.ts';

const probe = spawnSync('kubectl', ['version', '--client', '--output=json'], { encoding: 'utf8' });
const reason = probe.status === 0 ? '' : ' (skipped: kubectl is not installed)';

/** What kubectl says without its remarks about versions. */
interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

describe.skipIf(reason !== '')(`kubectl against APIServer${reason}`, () => {
  let server: APIServer;
  let home: string;
  let kubeconfig: string;

  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), 'kubectl-home-'));
    kubeconfig = join(home, 'kubeconfig');
  });
  beforeEach(async ({ onTestFinished }) => {
    server = await APIServer.start();
    onTestFinished(() => server.close());
    await writeFile(kubeconfig, server.kubeconfigYaml(), { mode: 0o600 });
  });
  afterAll(() => rm(home, { recursive: true, force: true }));

  const environment = () => ({ PATH: process.env['PATH'], HOME: home, KUBECONFIG: kubeconfig });

  function kubectl(...parameters: string[]): Promise<Outcome> {
    return new Promise((resolve) => {
      execFile('kubectl', parameters, { env: environment(), timeout: 15_000 }, (error, stdout, stderr) => {
        resolve({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr });
      });
    });
  }

  async function fileOf(object: object): Promise<string> {
    const path = join(home, 'object.json');
    await writeFile(path, JSON.stringify(object));
    return path;
  }

  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web', namespace: 'default' },
    spec: { nodeName: 'node-a', containers: [{ name: 'c', image: 'busybox:1' }] },
  };
  const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node-a' } };

  it('create -f and get show pods and nodes in columns', async () => {
    expect(await kubectl('create', '-f', await fileOf(node))).toMatchObject({
      code: 0,
      stdout: 'node/node-a created\n',
    });
    expect(await kubectl('create', '-f', await fileOf(pod))).toMatchObject({ code: 0, stdout: 'pod/web created\n' });
    expect(await kubectl('create', '-f', await fileOf(pod))).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('AlreadyExists'),
    });
    const pods = await kubectl('get', 'pods', '-o', 'wide');
    expect(pods.stdout).toMatch(/^NAME +READY +STATUS +RESTARTS +AGE +IP +NODE +NOMINATED NODE +READINESS GATES\n/);
    expect(pods.stdout).toMatch(/\nweb +0\/1 +Pending +0 +\d+s +<none> +node-a +<none> +<none>\n$/);
    expect((await kubectl('get', 'nodes')).stdout).toMatch(
      /^NAME +STATUS +ROLES +AGE +VERSION *\nnode-a +Unknown +<none>/,
    );
    expect((await kubectl('get', 'pod/web', '-o', 'jsonpath={.status.phase}')).stdout).toBe('Pending');
    expect(await kubectl('get', 'pod', 'nope')).toMatchObject({ code: 1, stderr: expect.stringContaining('NotFound') });
  });

  it('get -w shows each change in a line', async () => {
    server.pods.create(pod);
    const child = spawn('kubectl', ['get', 'pods', '-w', '--no-headers'], { env: environment() });
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const nextLine = async () => String((await lines.next()).value);
    try {
      expect(await nextLine()).toMatch(/^web +0\/1 +Pending/);
      const containerStatuses = [{ name: 'c', ready: true, state: { running: {} } }];
      server.pods.patchStatus('default', 'web', { status: { phase: 'Running', containerStatuses } });
      expect(await nextLine()).toMatch(/^web +1\/1 +Running/);
      server.pods.delete('default', 'web');
      expect(await nextLine()).toMatch(/^web +1\/1 +Terminating/);
      server.pods.create({ ...pod, metadata: { name: 'other' } });
      expect(await nextLine()).toMatch(/^other +0\/1 +Pending/);
    } finally {
      child.kill('SIGKILL');
    }
  });

  it('get -w shows each change of a node in a line', async () => {
    await kubectl('create', '-f', await fileOf(node));
    const child = spawn('kubectl', ['get', 'nodes', '-w', '--no-headers'], { env: environment() });
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const nextLine = async () => String((await lines.next()).value);
    try {
      expect(await nextLine()).toMatch(/^node-a +Unknown +<none>/);
      const status = { conditions: [{ type: 'Ready', status: 'True' }], nodeInfo: { kubeletVersion: 'v1.37.1' } };
      const patch = JSON.stringify({ status });
      await kubectl('patch', 'node', 'node-a', '--subresource=status', '-p', patch);
      expect(await nextLine()).toMatch(/^node-a +Ready +<none> +\S+ +v1\.37\.1/);
      await kubectl('cordon', 'node-a');
      expect(await nextLine()).toMatch(/^node-a +Ready,SchedulingDisabled +/);
      await kubectl('create', '-f', await fileOf({ ...node, metadata: { name: 'node-b' } }));
      expect(await nextLine()).toMatch(/^node-b +Unknown +/);
    } finally {
      child.kill('SIGKILL');
    }
  });

  it('describe shows a pod and a node with their events', async () => {
    server.pods.create(pod);
    await kubectl('create', '-f', await fileOf(node));
    const event = {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: 'web.1', namespace: 'default' },
      involvedObject: {
        kind: 'Pod',
        name: 'web',
        namespace: 'default',
        uid: server.pods.get('default', 'web')?.metadata?.uid,
      },
      ...{
        reason: 'Started',
        message: 'Started container c',
        type: 'Normal',
        source: { component: 'agent' },
        count: 1,
      },
    };
    await kubectl('create', '-f', await fileOf(event));
    const described = await kubectl('describe', 'pod', 'web');
    expect(described).toMatchObject({ code: 0, stderr: '' });
    expect(described.stdout).toMatch(/Name: +web\n/);
    expect(described.stdout).toMatch(/Normal +Started +\S+ +agent +Started container c/);
    const node_ = await kubectl('describe', 'node', 'node-a');
    expect(node_.code).toBe(0);
    expect(node_.stdout).toMatch(/Name: +node-a\n/);
    expect(node_.stdout).toMatch(/Non-terminated Pods: +\(1 in total\)/);
  });

  it('apply -f creates, changes and leaves unchanged', async () => {
    expect((await kubectl('apply', '-f', await fileOf(pod))).stdout).toBe('pod/web created\n');
    expect((await kubectl('apply', '-f', await fileOf(pod))).stdout).toBe('pod/web unchanged\n');
    const changed = { ...pod, spec: { ...pod.spec, containers: [{ name: 'c', image: 'busybox:2' }] } };
    expect((await kubectl('apply', '-f', await fileOf(changed))).stdout).toBe('pod/web configured\n');
    expect(server.pods.get('default', 'web')?.spec?.containers?.[0]?.image).toBe('busybox:2');
    expect((await kubectl('label', 'pod', 'web', 'a=b')).stdout).toBe('pod/web labeled\n');
    const forbidden = { ...pod, spec: { ...pod.spec, nodeName: 'node-b' } };
    expect(await kubectl('apply', '-f', await fileOf(forbidden))).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('pod updates may not change fields'),
    });
  });

  it('apply -f creates a node, leaves it unchanged and changes it', async () => {
    expect((await kubectl('apply', '-f', await fileOf(node))).stdout).toBe('node/node-a created\n');
    expect((await kubectl('apply', '-f', await fileOf(node))).stdout).toBe('node/node-a unchanged\n');
    const changed = { ...node, metadata: { ...node.metadata, labels: { zone: 'z' } }, spec: { unschedulable: true } };
    expect((await kubectl('apply', '-f', await fileOf(changed))).stdout).toBe('node/node-a configured\n');
    expect((await kubectl('get', 'nodes', '-l', 'zone=z', '--no-headers')).stdout).toMatch(
      /^node-a +Unknown,SchedulingDisabled +/,
    );
    expect((await kubectl('apply', '-f', await fileOf(node))).stdout).toBe('node/node-a configured\n');
    const outcome = await kubectl('get', 'node/node-a', '-o', 'jsonpath={.metadata.labels}{.spec.unschedulable}');
    expect(outcome).toMatchObject({ code: 0, stdout: '' });
  });

  it('delete waits until the pod is gone, or removes it by force', async () => {
    server.pods.create(pod);
    const deletion = kubectl('delete', 'pod', 'web');
    while (server.pods.get('default', 'web')?.metadata?.deletionTimestamp === undefined) {
      await new Promise(setImmediate);
    }
    server.pods.delete('default', 'web', { gracePeriodSeconds: 0 });
    expect(await deletion).toMatchObject({ code: 0, stdout: expect.stringContaining('pod "web" deleted') });
    server.pods.create(pod);
    expect((await kubectl('delete', 'pod', 'web', '--force', '--grace-period=0')).code).toBe(0);
    expect(server.pods.list()).toEqual([]);
    expect(await kubectl('delete', 'pod', 'web')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('NotFound'),
    });
  });

  it('delete removes a node immediately, and waits for one with a finalizer', async () => {
    await kubectl('create', '-f', await fileOf(node));
    expect(await kubectl('delete', 'node', 'node-a')).toMatchObject({ code: 0, stdout: 'node "node-a" deleted\n' });
    expect(await kubectl('get', 'nodes', '-o', 'name')).toMatchObject({ code: 0, stdout: '' });
    expect(await kubectl('delete', 'node', 'node-a')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('NotFound'),
    });
    await kubectl(
      'create',
      '-f',
      await fileOf({ ...node, metadata: { ...node.metadata, finalizers: ['example.org/f'] } }),
    );
    const deletions = () => server.requests.filter(({ method }) => method === 'DELETE').length;
    const before = deletions();
    const deletion = kubectl('delete', 'node', 'node-a');
    while (deletions() === before) await new Promise(setImmediate);
    expect((await kubectl('get', 'nodes', '-o', 'name')).stdout).toBe('node/node-a\n');
    await kubectl('patch', 'node', 'node-a', '-p', '{"metadata":{"finalizers":null}}');
    expect(await deletion).toMatchObject({ code: 0, stdout: 'node "node-a" deleted\n' });
    expect((await kubectl('get', 'nodes', '-o', 'name')).stdout).toBe('');
  });

  it('sends no request that the server does not support', async () => {
    await kubectl('apply', '-f', await fileOf(pod));
    await kubectl('get', 'pods');
    await kubectl('api-resources');
    const missing = server.requests.filter(({ status, path }) => status >= 400 && !path.endsWith('/pods/web'));
    expect(missing).toEqual([]);
  });
});
