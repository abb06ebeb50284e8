import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Pod } from 'kubelet-status-manager';
import { createKubeTransport } from '../../src/kube/http/transport.ts';
import type { KubeTransport } from 'kubelet-status-manager/http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ControlPlane, controlPlaneAvailable, startControlPlane } from '../support/control-plane.ts';
import { agentIsBuilt, livingGroups, RunningAgent } from './node-agent/run-agent.ts';

const { reason } = controlPlaneAvailable();
const kubectlFile = (process.env['PATH'] ?? '')
  .split(delimiter)
  .map((path) => join(path, 'kubectl'))
  .find((file) => existsSync(file));

const keepsRunning = fileURLToPath(
  new URL('../../examples/node-agent/manifests/1-keeps-running.yaml', import.meta.url),
);

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'node-agent-cluster-'));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

async function writeManifest(name: string, command: readonly string[]): Promise<string> {
  const file = join(directory, `${name}.json`);
  const spec = { containers: [{ name: 'c', image: 'process', command }], terminationGracePeriodSeconds: 5 };
  await writeFile(file, JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec }));
  return file;
}

const whyNotOnCluster = agentIsBuilt ? reason : 'run `npm run build` first';
describe.skipIf(whyNotOnCluster !== '')(
  `node agent on a real kube-apiserver${whyNotOnCluster && ` (skipped: ${whyNotOnCluster})`}`,
  () => {
    const pods = '/api/v1/namespaces/default/pods';
    let controlPlane: ControlPlane;
    let transport: KubeTransport;
    let kubeconfig: string;
    beforeAll(async () => {
      controlPlane = await startControlPlane();
      transport = createKubeTransport(controlPlane.kubeConfig('admin'));
      kubeconfig = join(directory, 'kubeconfig');
      await writeFile(kubeconfig, JSON.stringify(controlPlane.kubeConfig('admin')), { mode: 0o600 });
    });
    afterAll(async () => {
      await transport?.close();
      await controlPlane?.stop();
    });

    it('runs the annotated pods, ignores all others, and deletes what it has created', async () => {
      const manifest = await writeManifest('mine', ['sleep', '3600']);
      const args = ['--kubeconfig', kubeconfig, '--node-name', 'agent-1', '--manifests', manifest];
      await using agent = new RunningAgent(args);
      await agent.waitForRunning('default/mine');
      const node = (await transport.request('GET', '/api/v1/nodes/agent-1')).json();
      expect(node).toMatchObject({
        spec: {
          taints: expect.arrayContaining([{ key: 'kubelet-status-manager.dev/node-agent', effect: 'NoSchedule' }]),
        },
        status: { conditions: expect.arrayContaining([expect.objectContaining({ type: 'Ready', status: 'True' })]) },
      });

      const create = async (name: string, annotations: object): Promise<Pod> => {
        const spec = {
          nodeName: 'agent-1',
          automountServiceAccountToken: false,
          containers: [{ name: 'c', image: 'process', command: ['sleep', '3600'] }],
        };
        const body = { apiVersion: 'v1', kind: 'Pod', metadata: { name, annotations }, spec };
        return (await transport.request('POST', pods, { body })).json() as Pod;
      };
      const foreign = await create('foreign', {});
      // Created later, so that the agent has already seen the other pod when this one runs.
      await create('asking', { 'kubelet-status-manager.dev/run': 'process' });
      await agent.waitForRunning('default/asking');

      agent.signal('SIGINT');
      expect(await agent.exitCode()).toBe(0);
      await expect.poll(() => livingGroups(agent.pids())).toEqual([]);
      const read = async (path: string) => (await transport.request('GET', path)).json();
      expect(await read(`${pods}/foreign`)).toEqual(foreign);
      expect(await read(`${pods}/asking`)).toMatchObject({ status: { phase: 'Failed', reason: 'Terminated' } });
      await expect(read(`${pods}/mine`)).rejects.toMatchObject({ statusCode: 404 });
      await expect(read('/api/v1/nodes/agent-1')).rejects.toMatchObject({ statusCode: 404 });
      expect(agent.stdout + agent.stderr).not.toContain(controlPlane.adminToken);
    });

    it('brings the pods of the demo to their expected end states, and leaves nothing behind', async () => {
      await using agent = new RunningAgent([
        '--kubeconfig',
        kubeconfig,
        '--node-name',
        'demo',
        '--demo',
        '--for',
        '30s',
      ]);
      expect(await agent.exitCode()).toBe(0);
      const endStates = agent.events.filter(({ event }) => event === 'endState');
      expect(endStates.length).toBeGreaterThanOrEqual(10);
      expect(endStates.filter(({ isExpected }) => !isExpected)).toEqual([]);
      const { items } = (await transport.request('GET', '/api/v1/pods')).json() as { items: Pod[] };
      expect(items.filter(({ spec }) => spec?.nodeName === 'demo')).toEqual([]);
      await expect(transport.request('GET', '/api/v1/nodes/demo')).rejects.toMatchObject({ statusCode: 404 });
      await expect.poll(() => livingGroups(agent.pids())).toEqual([]);
      expect(agent.leftovers()).toEqual([]);
    });

    it('passes ConfigMaps and Secrets to containers, and reports missing ones', async () => {
      const post = (resource: string, body: object) =>
        transport.request('POST', `/api/v1/namespaces/default/${resource}`, { body });
      const password = Buffer.from('hush').toString('base64');
      await post('configmaps', { metadata: { name: 'settings' }, data: { level: 'high' } });
      await post('secrets', { metadata: { name: 'login' }, data: { password } });
      await using agent = new RunningAgent(['--kubeconfig', kubeconfig, '--node-name', 'agent-2']);
      await agent.waitFor(({ event }) => event === 'started');
      const metadata = (name: string) => ({ name, annotations: { 'kubelet-status-manager.dev/run': 'process' } });
      const env = [{ name: 'LEVEL', valueFrom: { configMapKeyRef: { name: 'settings', key: 'level' } } }];
      // The message is shown, so it does not have the secret.
      const script = `[ "$LEVEL $password" = 'high hush' ] && [ "$(cat etc/login/password)" = hush ] && echo right >dev/termination-log`;
      const command = ['sh', '-c', script];
      const spec = { nodeName: 'agent-2', restartPolicy: 'Never', automountServiceAccountToken: false };
      await post('pods', {
        metadata: metadata('configured'),
        spec: {
          ...spec,
          containers: [
            {
              ...{ name: 'c', image: 'process', command, env, envFrom: [{ secretRef: { name: 'login' } }] },
              volumeMounts: [{ name: 'login', mountPath: '/etc/login' }],
            },
          ],
          volumes: [{ name: 'login', secret: { secretName: 'login' } }],
        },
      });
      const envFrom = [{ configMapRef: { name: 'missing' } }];
      const containers = [{ name: 'c', image: 'process', command: ['true'], envFrom }];
      await post('pods', { metadata: metadata('incomplete'), spec: { ...spec, containers } });
      const volumes = [{ name: 'v', secret: { secretName: 'missing' } }];
      const plain = [{ name: 'c', image: 'process', command: ['true'] }];
      await post('pods', { metadata: metadata('unmounted'), spec: { ...spec, volumes, containers: plain } });

      const stateOf = async (name: string) => {
        const { status } = (await transport.request('GET', `${pods}/${name}`)).json() as Pod;
        return status?.containerStatuses?.[0]?.state;
      };
      await expect
        .poll(() => stateOf('configured'), { timeout: 20_000 })
        .toMatchObject({
          terminated: { exitCode: 0, message: 'right\n' },
        });
      await expect
        .poll(() => stateOf('incomplete'), { timeout: 20_000 })
        .toMatchObject({
          waiting: { reason: 'CreateContainerConfigError', message: 'configmap "missing" not found' },
        });
      const events = async () => {
        const { items } = (await transport.request('GET', '/api/v1/namespaces/default/events')).json() as {
          items: { reason: string; message: string; involvedObject: { name: string } }[];
        };
        return items.map(({ reason, message, involvedObject: { name } }) => `${name}: ${reason}: ${message}`);
      };
      await expect
        .poll(events, { timeout: 20_000 })
        .toContainEqual(
          expect.stringMatching(
            /^unmounted: FailedMount: .*MountVolume\.SetUp failed for volume "v" : secret "missing" not found/,
          ),
        );
      expect(await events()).toContainEqual('incomplete: Failed: Error: configmap "missing" not found');
      agent.signal('SIGINT');
      expect(await agent.exitCode()).toBe(0);
      expect(agent.stdout + agent.stderr).not.toContain('hush');
    });

    it.skipIf(!kubectlFile)(
      'kubectl gets, watches, describes, deletes and applies',
      () => expectKubectlWorks(['--kubeconfig', kubeconfig, '--node-name', 'kubectl', '--manifests', keepsRunning]),
      60_000,
    );

    it('does not use a Node that does not belong to the agent', async () => {
      const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'real-node' } };
      await transport.request('POST', '/api/v1/nodes', { body: node });
      const before = (await transport.request('GET', '/api/v1/nodes/real-node')).text;
      await using agent = new RunningAgent(['--kubeconfig', kubeconfig, '--node-name', 'real-node']);
      expect(await agent.exitCode()).toBe(3);
      expect(agent.stderr).toContain('a Node of this name exists and does not belong to this agent');
      expect((await transport.request('GET', '/api/v1/nodes/real-node')).text).toBe(before);
    });
  },
);

const whyNotKubectl = !agentIsBuilt ? 'run `npm run build` first' : kubectlFile ? '' : 'kubectl is not installed';
describe.skipIf(whyNotKubectl !== '')(
  `kubectl while the node agent runs${whyNotKubectl && ` (skipped: ${whyNotKubectl})`}`,
  () => {
    it('gets, watches, describes, deletes and applies', () => expectKubectlWorks([]));
  },
);

/** As somebody who watches the agent does, and at last applies a pod of their own. */
async function expectKubectlWorks(args: readonly string[]): Promise<void> {
  await using agent = new RunningAgent(args);
  const { kubeconfig, node } = await agent.waitFor(({ event }) => event === 'started');
  await agent.waitForRunning('default/keeps-running');
  const env = { PATH: process.env['PATH'], HOME: directory, KUBECONFIG: kubeconfig };
  const kubectl = async (...more: string[]): Promise<string> =>
    (await promisify(execFile)(kubectlFile!, more, { env })).stdout;

  expect(await kubectl('get', 'pods')).toMatch(/^keeps-running +1\/1 +Running +0 /m);
  expect(await kubectl('get', 'nodes', node!)).toMatch(new RegExp(`^${node} +Ready `, 'm'));
  // Events are written a moment later.
  const describePod = () => kubectl('describe', 'pod', 'keeps-running');
  await expect.poll(describePod, { timeout: 10_000 }).toMatch(/^ +Normal +Started .* Container started/m);
  const description = await describePod();
  expect(description).toMatch(/^ +ContainersReady +True/m);
  expect(description).toMatch(/^ +Normal +Created .* Container created/m);

  const watch = spawn(kubectlFile!, ['get', 'pods', '--watch'], { env, stdio: ['ignore', 'pipe', 'ignore'] });
  const closed = once(watch, 'close');
  const seen: string[] = [];
  createInterface({ input: watch.stdout }).on('line', (line) => seen.push(line.replaceAll(/ +/g, ' ')));
  await expect.poll(() => seen.join('\n'), { timeout: 10_000 }).toContain('keeps-running 1/1 Running');
  await kubectl('delete', 'pod', 'keeps-running');
  await expect.poll(() => seen.join('\n'), { timeout: 10_000 }).toContain('keeps-running 1/1 Terminating');
  watch.kill();
  await closed;
  expect(await kubectl('get', 'pods', '--output', 'name')).not.toContain('keeps-running');

  const applied = join(directory, 'applied.json');
  const metadata = { name: 'applied', annotations: { 'kubelet-status-manager.dev/run': 'process' } };
  const containers = [{ name: 'c', image: 'process', command: ['sleep', '3600'] }];
  const spec = { nodeName: node, automountServiceAccountToken: false, terminationGracePeriodSeconds: 5, containers };
  await writeFile(applied, JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata, spec }));
  expect(await kubectl('apply', '--filename', applied)).toContain('pod/applied created');
  await agent.waitForRunning('default/applied');
  expect(await kubectl('apply', '--filename', applied)).toContain('pod/applied unchanged');
  await kubectl('delete', 'pod', 'applied');
}
