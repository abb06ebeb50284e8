import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Pod, PodStatus } from '../../src/kube/objects/types.ts';
import { startContainerd, whyNoContainerd } from '../cri/containerd.ts';
import { type ControlPlane, controlPlaneAvailable, startControlPlane } from '../support/control-plane.ts';
import { KubeHTTP } from '../support/kube-http.ts';

const mainFile = fileURLToPath(new URL('../../dist/containerd-agent/main.mjs', import.meta.url));
const why = existsSync(mainFile) ? (whyNoContainerd() ?? controlPlaneAvailable().reason) : 'run `npm run build` first';
const image = 'docker.io/library/busybox:1';
const sleepForever = 'echo hello; trap "exit 0" TERM; sleep 1000 & wait';
const podsPath = '/api/v1/namespaces/default/pods';

describe.skipIf(why !== '')(`containerd-agent${why && ` (skipped: ${why})`}`, () => {
  let containerd: Awaited<ReturnType<typeof startContainerd>>;
  let controlPlane: ControlPlane;
  let admin: KubeHTTP;
  let args: string[];
  const agents: ChildProcess[] = [];

  beforeAll(async () => {
    [containerd, controlPlane] = await Promise.all([startContainerd(8), startControlPlane()]);
    admin = new KubeHTTP({ ...controlPlane, token: controlPlane.adminToken });
    const { endpoint, folder } = containerd;
    await writeFile(join(folder, 'kubeconfig'), JSON.stringify(controlPlane.kubeConfig('node-a')));
    await mkdir(join(folder, 'static'));
    args = [
      ...['--kubeconfig', join(folder, 'kubeconfig'), '--hostname-override', 'node-a', '--node-ip', '192.0.2.7'],
      ...['--root-dir', join(folder, 'kubelet'), '--pod-logs-dir', join(folder, 'logs')],
      ...['--container-runtime-endpoint', endpoint, '--cgroup-root', '/kubepods-containerd-agent'],
      ...['--pod-manifest-path', join(folder, 'static'), '--healthz-port', '0', '--port', '0'],
    ];
  });
  afterAll(async () => {
    for (const agent of agents.filter(({ exitCode }) => exitCode === null)) {
      agent.kill('SIGKILL');
      await once(agent, 'exit');
    }
    await admin?.close();
    await controlPlane?.stop();
    await containerd?.stop();
  });

  function startAgent(): ChildProcess {
    const agent = spawn(process.execPath, [mainFile, ...args], { stdio: ['ignore', 'ignore', 'inherit'] });
    agents.push(agent);
    return agent;
  }
  function pod(name: string, spec: object = {}): Pod & { apiVersion: string; kind: string } {
    const app = { name: 'app', image, imagePullPolicy: 'IfNotPresent', command: ['sh', '-c', sleepForever] };
    return {
      ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'default' } },
      spec: { terminationGracePeriodSeconds: 1, containers: [app], ...spec },
    };
  }
  const createPod = (name: string) => admin.request('POST', podsPath, { body: pod(name, { nodeName: 'node-a' }) });
  async function statusOf(name: string): Promise<PodStatus | undefined> {
    return (await admin.request('GET', `${podsPath}/${name}`)).body.status as PodStatus | undefined;
  }
  const phaseOf = async (name: string): Promise<string | undefined> => (await statusOf(name))?.phase;

  it('registers the Node, runs pods and static pods, and leaves them to the next agent', async () => {
    const manifest = join(containerd.folder, 'static', 'pod.json');
    await writeFile(manifest, JSON.stringify(pod('static')));
    const { uid } = (await createPod('app')).body.metadata as { uid: string };
    const first = startAgent();
    await expect.poll(() => phaseOf('app')).toBe('Running');
    await expect.poll(() => phaseOf('static-node-a')).toBe('Running');
    const log = join(containerd.folder, 'logs', `default_app_${uid}`, 'app', '0.log');
    expect(await readFile(log, 'utf8')).toMatch(/ stdout F hello\n$/);
    const matching = (pattern: RegExp): string => expect.stringMatching(pattern) as string;
    expect((await admin.request('GET', '/api/v1/nodes/node-a')).body.status).toMatchObject({
      addresses: [
        { type: 'InternalIP', address: '192.0.2.7' },
        { type: 'Hostname', address: 'node-a' },
      ],
      capacity: {
        cpu: matching(/^\d+$/),
        memory: matching(/^\d+Ki$/),
        'ephemeral-storage': matching(/^\d+/),
        pods: '110',
      },
      nodeInfo: { containerRuntimeVersion: matching(/^containerd:\/\/\d/), kubeletVersion: matching(/^v1\.37\./) },
      images: expect.arrayContaining([
        expect.objectContaining({ names: expect.arrayContaining([image]) as string[] }),
      ]) as object[],
    });

    first.kill('SIGTERM');
    expect(await once(first, 'exit')).toEqual([0, null]);
    const before = await statusOf('app');
    const second = startAgent();
    await createPod('later');
    await expect.poll(() => phaseOf('later')).toBe('Running');
    // Read from the cgroup at each sync of a running pod: on cgroup v1, a limit close to 2^63 appears for none.
    const resources = expect.anything() as PodStatus['resources'];
    expect(await statusOf('app')).toEqual({ ...before, resources });

    await rm(manifest);
    for (const name of ['app', 'later']) await admin.request('DELETE', `${podsPath}/${name}`);
    await expect.poll(async () => (await admin.request('GET', podsPath)).body.items).toEqual([]);
    second.kill('SIGINT');
    expect(await once(second, 'exit')).toEqual([0, null]);
  });
});
