import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { APIEventRecorder, createEventClient } from 'kubelet-status-manager/agent';
import { logNodesWithoutAccess } from '../../../src/kube/access/log-nodes-without-access.ts';
import { NodeReporter } from '../../../src/node/registration/node-reporter.ts';
import { createPodClient, type HTTPPodClient } from 'kubelet-status-manager/http';
import { createInformerPodManager } from 'kubelet-status-manager/informer';
import {
  type AccessReport,
  accessParts,
  checkAccess,
  rbacManifest,
  StatusManager,
} from '../../../src/status-manager/index.ts';
import { recordingLogger, silentLogger } from '../../../src/testing/recording-logger.ts';
import { kubeConfigOf } from '../../contract/kube-config-of.ts';
import { type ContractServer, contractServers, START_TIMEOUT_MS } from '../../contract/servers.ts';
import { loadClientNode } from '../../support/client-node.ts';
import { controlPlaneAvailable, type ControlPlane, startControlPlane } from '../../support/control-plane.ts';
import { KubeHTTP } from '../../support/kube-http.ts';

const waiting = { timeout: 20_000, interval: 50 };

function podOn(nodeName: string, name: string): object {
  const spec = { nodeName, automountServiceAccountToken: false, containers: [{ name: 'app', image: 'app' }] };
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'default' }, spec };
}

function namesOf(checks: AccessReport['checks']): string[] {
  return checks.map(({ verb, resource, subresource, by }) =>
    [verb, subresource === '' ? resource : `${resource}/${subresource}`, by].join(' '),
  );
}

describe.each(contractServers)('checkAccess of a node user: $name', (kind) => {
  let server: ContractServer;
  let client: HTTPPodClient;

  beforeAll(async () => {
    if (!kind.available) return;
    server = await kind.start();
    client = createPodClient(kubeConfigOf(server, server.nodeToken('node-a')), { logger: silentLogger });
  }, START_TIMEOUT_MS);
  afterAll(async () => {
    await client?.transport.close();
    await server?.stop();
  });

  it.runIf(kind.available)(
    'has all permissions of an agent; `get pods` can be checked once the node has a pod',
    async () => {
      const before = await checkAccess(client, { nodeName: 'node-a', parts: accessParts });
      expect(before).toMatchObject({ user: 'system:node:node-a', isNodeUser: true, isComplete: true });
      expect(namesOf(before.unknown)).toEqual(['get pods review', 'patch pods/status dry-run']);

      await server.http.request('POST', '/api/v1/namespaces/default/pods', { body: podOn('node-a', 'a') });
      // The authorizer and the admission plugin see the pod a moment later.
      await vi.waitFor(async () => {
        const report = await checkAccess(client, { nodeName: 'node-a', parts: accessParts });
        expect([report.missing, report.unknown]).toEqual([[], []]);
      }, waiting);
    },
  );

  it.runIf(kind.available)(
    'lacks nothing of what virtual nodes need: objects of pods are granted one by one',
    async () => {
      const parts = ['status-manager', 'informer', 'node', 'pod-materials', 'events'] as const;
      const report = await checkAccess(client, { nodeName: 'node-a', parts });
      expect(report.missing).toEqual([]);
      expect(namesOf(report.unknown)).toEqual(
        expect.arrayContaining(['get configmaps review', 'get secrets review', 'create serviceaccounts/token review']),
      );
    },
  );

  it.runIf(kind.available)('reports that the user belongs to another node', async () => {
    const report = await checkAccess(client, { nodeName: 'node-b', parts: accessParts });
    const nodes = kind.isAsNewest('get-of-other-node') ? ['get nodes review'] : [];
    expect(namesOf(report.missing)).toEqual(expect.arrayContaining([...nodes, 'update leases review']));
    expect(report.explain()).toContain('This is the user of another node: the user of node-b is system:node:node-b.');
    expect(report.rbac).toBeUndefined();
  });
});

interface Rule {
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  verbs: string[];
}

interface RBACObject {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly rules?: Rule[];
}

const subject = { kind: 'ServiceAccount', namespace: 'providers', name: 'provider' } as const;
const nodeName = 'virtual-1';
const manifest = parseAllDocuments(rbacManifest({ nodeName, parts: accessParts, subject })).map(
  (document) => document.toJS() as RBACObject,
);

const { available, reason } = controlPlaneAvailable();

describe.runIf(available)(
  `checkAccess of a service account on kube-apiserver with RBAC${reason && ` (skipped: ${reason})`}`,
  () => {
    let controlPlane: ControlPlane;
    let admin: KubeHTTP;
    let client: HTTPPodClient;
    let token = '';

    async function send(method: string, path: string, body?: object): Promise<Record<string, object>> {
      const response = await admin.request(method, path, { body });
      expect(response).toMatchObject({ status: expect.toSatisfy((status: number) => status < 300) });
      return response.body as Record<string, object>;
    }

    const pathOf = ({ kind, metadata: { namespace } }: RBACObject): string =>
      `/apis/rbac.authorization.k8s.io/v1${namespace === undefined ? '' : `/namespaces/${namespace}`}/${kind.toLowerCase()}s`;

    beforeAll(async () => {
      controlPlane = await startControlPlane();
      admin = new KubeHTTP({ ...controlPlane, token: controlPlane.adminToken });
      await send('POST', '/api/v1/namespaces', {
        apiVersion: 'v1',
        kind: 'Namespace',
        metadata: { name: 'providers' },
      });
      const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'provider' } };
      await send('POST', '/api/v1/namespaces/providers/serviceaccounts', account);
      const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} };
      const { status } = await send('POST', '/api/v1/namespaces/providers/serviceaccounts/provider/token', request);
      token = (status as { token: string }).token;
      client = createPodClient(kubeConfigOf(controlPlane, token), { logger: silentLogger });
      await send('POST', '/api/v1/namespaces/default/pods', podOn(nodeName, 'a'));
    }, START_TIMEOUT_MS);
    afterAll(async () => {
      await client?.transport.close();
      await admin?.close();
      await controlPlane?.stop();
    });

    const check = (): Promise<AccessReport> => checkAccess(client, { nodeName, parts: accessParts });

    it("reports all permissions as missing without RBAC, also for client-node's KubeConfig, with the manifest that grants them", async () => {
      const { KubeConfig } = await loadClientNode();
      const kubeConfig = new KubeConfig();
      kubeConfig.loadFromString(JSON.stringify(kubeConfigOf(controlPlane, token)));
      const report = await check();
      expect(report.missing).toHaveLength(report.checks.length);
      expect(report.user).toBe('system:serviceaccount:providers:provider');
      expect(parseAllDocuments(report.rbac!).map((document) => document.toJS() as RBACObject)).toEqual(manifest);
      expect(await checkAccess(kubeConfig, { nodeName, parts: accessParts })).toEqual(report);
      await expect(checkAccess(kubeConfig, { nodeName, signal: AbortSignal.abort() })).rejects.toMatchObject({
        name: 'APIError',
      });
    });

    it('the manifest grants all permissions; each is needed, and checkAccess names the one that is removed', async () => {
      for (const object of manifest) await send('POST', pathOf(object), object);
      await vi.waitFor(async () => expect((await check()).missing).toEqual([]), waiting);
      expect((await check()).unknown).toEqual([]);

      for (const role of manifest.filter(({ rules }) => rules !== undefined)) {
        const path = `${pathOf(role)}/${role.metadata.name}`;
        for (const rule of role.rules!) {
          for (const verb of rule.verbs) {
            const rules = role.rules!.map((other) =>
              other === rule ? { ...other, verbs: other.verbs.filter((one) => one !== verb) } : other,
            );
            await send('PUT', path, { ...role, rules: rules.filter(({ verbs }) => verbs.length > 0) });
            const missing = `${verb} ${rule.resources[0]} review`;
            await vi.waitFor(async () => expect(namesOf((await check()).missing)).toEqual([missing]), waiting);
          }
        }
        await send('PUT', path, role);
        await vi.waitFor(async () => expect((await check()).missing).toEqual([]), waiting);
      }
    }, 120_000);

    it('the manifest grants nothing on other nodes, and the log says so', async () => {
      const logger = recordingLogger();
      const options = { user: 'provider', parts: accessParts, logger, signal: new AbortController().signal };
      await logNodesWithoutAccess(client.transport, { ...options, nodeNames: [nodeName, 'virtual-2'] });
      const missing = ['get nodes', 'patch nodes', 'patch nodes/status', 'get leases', 'update leases'];
      expect(logger.lines.map(({ fields }) => fields)).toEqual([
        { user: 'provider', nodes: 1, names: ['virtual-2'], missing },
      ]);
    });

    it('with exactly these permissions, an agent registers, lists and watches, writes a status, deletes a pod, and records an Event', async () => {
      const { transport } = client;
      const recorder = new APIEventRecorder({ client: createEventClient(transport), nodeName, logger: silentLogger });
      const node = new NodeReporter({ nodeName, transport, recorder, logger: silentLogger, nodeStatus: () => ({}) });
      node.start();
      const podManager = createInformerPodManager({ client: { transport }, nodeName, logger: silentLogger });
      const manager = new StatusManager({
        client,
        podManager,
        podCouldHaveRunningContainers: () => false,
        logger: silentLogger,
      });
      podManager.start();
      manager.start();
      try {
        const { metadata } = (await send('POST', '/api/v1/namespaces/default/pods', podOn(nodeName, 'b'))) as {
          metadata: { uid: string };
        };
        const pod = await vi.waitFor(() => {
          const seen = podManager.getPodByUID(metadata.uid);
          expect(seen).toBeDefined();
          return seen!;
        }, waiting);
        manager.setPodStatus(pod, { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] });
        expect(await manager.whenWritten(metadata.uid)).toEqual({ written: true, version: 1 });
        await send('DELETE', '/api/v1/namespaces/default/pods/b');
        manager.terminatePod(pod);
        await vi.waitFor(async () => {
          expect((await admin.request('GET', '/api/v1/namespaces/default/pods/b')).status).toBe(404);
        }, waiting);
        recorder.event({ pod, type: 'Normal', reason: 'Killing', message: 'Stopping container app' });
        await vi.waitFor(async () => {
          const { items } = await send('GET', '/api/v1/namespaces/default/events');
          expect(items).toMatchObject(expect.arrayContaining([expect.objectContaining({ reason: 'Killing' })]));
          await send('GET', `/api/v1/nodes/${nodeName}`);
          await send('GET', `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${nodeName}`);
        }, waiting);
      } finally {
        await manager.stop();
        await podManager.stop();
        await node.stop();
        await recorder.stop();
      }
    }, 60_000);
  },
);
