import { Readable } from 'node:stream';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from 'kubelet-status-manager';
import { type KubeletAPIServer, serveKubeletAPI } from 'kubelet-status-manager/kubelet-api';
import { createVirtualNodes, type PodMaterials, type VirtualNodes } from 'kubelet-status-manager/virtual-nodes';
import { recordingLogger } from 'kubelet-status-manager/testing';
import { kubeConfigOf } from '../contract/kube-config-of.ts';
import { type ControlPlane, controlPlaneAvailable, startControlPlane } from '../support/control-plane.ts';
import { TestDirectories } from '../support/directories.ts';
import { KubeHTTP, type KubeResponse } from '../support/kube-http.ts';
import { FakeCloud } from './fake-cloud.ts';

const { available, reason } = controlPlaneAvailable();
const api = '/api/v1/namespaces/default';
const directories = new TestDirectories();

describe.skipIf(!available)(`virtual nodes as the user of a node${reason && ` (skipped: ${reason})`}`, () => {
  let controlPlane: ControlPlane;
  let admin: KubeHTTP;
  let nodes: VirtualNodes | undefined;
  let kubelet: KubeletAPIServer | undefined;

  beforeAll(async () => {
    controlPlane = await startControlPlane({ pki: true, nodeNames: ['cloud-a', 'cloud-b'] });
    admin = new KubeHTTP({ ...controlPlane, token: controlPlane.adminToken });
    await create('/serviceaccounts', { metadata: { name: 'web' } });
    await create('/configmaps', { metadata: { name: 'settings' }, data: { COLOR: 'green' } });
    await create('/secrets', { metadata: { name: 'key' }, stringData: { 'key.pem': 'secret' } });
    const auths = { 'registry.example': { username: 'puller', password: 'pw' } };
    await create('/secrets', {
      ...{ metadata: { name: 'pull' }, type: 'kubernetes.io/dockerconfigjson' },
      stringData: { '.dockerconfigjson': JSON.stringify({ auths }) },
    });
  });
  afterEach(async () => {
    await nodes?.stop();
    await kubelet?.close();
  });
  afterAll(async () => {
    await admin?.close();
    await controlPlane?.stop();
    directories.removeAll();
  });

  async function create(path: string, body: object): Promise<KubeResponse> {
    const response = await admin.request('POST', `${api}${path}`, { body });
    expect(response).toMatchObject({ status: 201 });
    return response;
  }

  async function start(user: string, nodeNames: readonly string[], cloud: FakeCloud, read: PodMaterials[] = []) {
    const provider = cloud.asProvider({
      createPod: async (pod, options) => {
        read.push(await options.materials());
        await cloud.createPod(pod, options);
      },
      logs: async ({ name }) => Readable.from([Buffer.from(`of ${name}\n`)]),
    });
    const logger = recordingLogger();
    const client = kubeConfigOf(controlPlane, controlPlane.nodeToken(user));
    nodes = createVirtualNodes({ client, provider, listPeriodMs: 200, logger });
    const taints = [{ key: 'virtual-kubelet.io/provider', value: 'test', effect: 'NoSchedule' }];
    const nodeStatus = () => ({ capacity: { cpu: '100', memory: '100Gi', pods: '1000' } });
    for (const nodeName of nodeNames) nodes.add({ nodeName, addresses: ['127.0.0.1'], taints, nodeStatus });
    kubelet = await serveKubeletAPI(nodes.kubelet, {
      ...{ runtime: nodes.kubelet, host: '127.0.0.1', port: 0, logger, certDirectory: directories.create() },
      authentication: { clientCAFile: `${controlPlane.dir}/ca.crt` },
    });
    nodes.start();
    return logger;
  }

  const cloudOf = () => new FakeCloud({ clock: systemClock, startMs: 100, stopMs: 100 });

  it('runs a bound pod with its materials, shows its log, deletes it, and warns of nothing', async () => {
    const cloud = cloudOf();
    cloud.capabilities = { ...cloud.capabilities, volumes: ['secret', 'projected'] };
    const read: PodMaterials[] = [];
    const logger = await start('cloud-a', ['cloud-a'], cloud, read);
    await create('/pods', {
      metadata: { name: 'web' },
      spec: {
        ...{ serviceAccountName: 'web', imagePullSecrets: [{ name: 'pull' }], terminationGracePeriodSeconds: 1 },
        containers: [{ name: 'app', image: 'app:1', envFrom: [{ configMapRef: { name: 'settings' } }] }],
        volumes: [
          { name: 'key', secret: { secretName: 'key' } },
          { name: 'token', projected: { sources: [{ serviceAccountToken: { audience: 'vault', path: 'token' } }] } },
        ],
      },
    });
    const target = { apiVersion: 'v1', kind: 'Node', name: 'cloud-a' };
    await create('/pods/web/binding', { metadata: { name: 'web' }, target });
    const pod = async () => (await admin.request('GET', `${api}/pods/web`)).body;
    await expect.poll(pod).toMatchObject({ status: { phase: 'Running', podIP: '10.0.0.1' } });
    const { containers, volumes, pullSecrets, missingPullSecrets } = read.at(-1)!;
    expect(containers.get('app')!.env).toContainEqual({ name: 'COLOR', value: 'green' });
    expect(String(volumes.get('key')![0]!.content)).toBe('secret');
    const token = String(volumes.get('token')![0]!.content);
    const review = await admin.request('POST', '/apis/authentication.k8s.io/v1/tokenreviews', {
      body: { spec: { token, audiences: ['vault'] } },
    });
    expect(review.body.status).toMatchObject({ user: { username: 'system:serviceaccount:default:web' } });
    expect([pullSecrets, missingPullSecrets]).toEqual([
      [{ registry: 'registry.example', username: 'puller', password: 'pw' }],
      [],
    ]);
    expect(await admin.request('GET', `${api}/pods/web/log`)).toMatchObject({ status: 200, body: 'of web\n' });

    await admin.request('DELETE', `${api}/pods/web`);
    await expect.poll(pod).toMatchObject({ code: 404 });
    expect(cloud.names).toEqual([]);
    // Until the permissions have been checked.
    await nodes!.stop();
    expect([logger.warnings, logger.errors]).toEqual([[], []]);
  });

  it.each([
    ['the only node', ['cloud-b']],
    ['the second node', ['cloud-a', 'cloud-b']],
  ])('says what the user lacks for a node of another name, and what to do: %s', async (_which, nodeNames) => {
    const logger = await start('cloud-a', nodeNames, cloudOf());
    const warnings = () => logger.warnings.toSorted((a, b) => a.message.localeCompare(b.message));
    await expect.poll(warnings).toEqual([
      expect.objectContaining({
        message: 'Registering the Node failed',
        fields: expect.objectContaining({
          node: 'cloud-b',
          reason: expect.stringContaining('User "system:node:cloud-a" cannot get resource "nodes"'),
        }),
      }),
      expect.objectContaining({
        message: expect.stringMatching(
          /^system:node:cloud-a lacks 5 of .* on node cloud-b:\n- list pods[^]*\nThis is the user of another node: the user of cloud-b is system:node:cloud-b.$/,
        ),
        fields: expect.objectContaining({
          ...{ nodeName: 'cloud-b', user: 'system:node:cloud-a' },
          missing: ['list pods', 'watch pods', 'get nodes', 'get leases', 'update leases'],
        }),
      }),
    ]);
  });

  it('says why a pod that only the cloud has keeps running there, and what to do', async () => {
    const cloud = cloudOf();
    cloud.add({ uid: 'u-1', namespace: 'default', name: 'left', nodeName: 'cloud-a', state: 'running' });
    const logger = await start('cloud-a', ['cloud-a'], cloud);
    await expect
      .poll(() => logger.errors.map(({ fields }) => fields['reason']))
      .toEqual([
        'the provider reports pod default/left (u-1) on node cloud-a, the API server does not have it there, and does not tell the user of a node whether it has it elsewhere: delete the pod in the cloud if nobody needs it, or run as a service account',
      ]);
    expect(cloud.names).toEqual(['left']);
  });
});
