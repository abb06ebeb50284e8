import { X509Certificate } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { systemClock } from 'kubelet-status-manager';
import { type KubeletAPIServer, serveKubeletAPI } from 'kubelet-status-manager/kubelet-api';
import { createVirtualNodes, type VirtualNodes } from 'kubelet-status-manager/virtual-nodes';
import { recordingLogger } from 'kubelet-status-manager/testing';
import { createSigningRequest } from '../../src/shared/x509.ts';
import { kubeConfigOf } from '../contract/kube-config-of.ts';
import { type ControlPlane, controlPlaneAssets, startControlPlane } from '../support/control-plane.ts';
import { TestDirectories } from '../support/directories.ts';
import { KubeHTTP, type KubeResponse } from '../support/kube-http.ts';
import { FakeCloud } from './fake-cloud.ts';

const assets = controlPlaneAssets().find((folder) => existsSync(join(folder, 'kube-controller-manager')));
const csrPath = '/apis/certificates.k8s.io/v1/certificatesigningrequests';
const pods = '/api/v1/namespaces/default/pods';
const directories = new TestDirectories();

// As in a cluster: a service account with the permissions of deployment.yaml, and an API server that verifies kubelets.
describe.skipIf(assets === undefined)(
  `serverTLSBootstrap of virtual nodes${assets === undefined ? ' (skipped: no kube-controller-manager)' : ''}`,
  () => {
    let controlPlane: ControlPlane;
    let admin: KubeHTTP;
    let token: string;
    let nodes: VirtualNodes | undefined;
    let kubelet: KubeletAPIServer | undefined;

    beforeAll(async () => {
      const folder = directories.create();
      controlPlane = await startControlPlane({
        ...{ assets: assets!, folder, pki: true, controllers: true, nodeNames: ['cloud-b'] },
        apiServerFlags: [`--kubelet-certificate-authority=${join(folder, 'ca.crt')}`],
      });
      admin = new KubeHTTP({ ...controlPlane, token: controlPlane.adminToken });
      const namespace = 'virtual-nodes';
      await create('/api/v1/namespaces', { metadata: { name: namespace } });
      await create(`/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name: namespace } });
      const yaml = new URL('../../examples/virtual-kubelet-provider/deployment.yaml', import.meta.url);
      for (const document of parseAllDocuments(await readFile(yaml, 'utf8'))) {
        const manifest = document.toJS() as { kind: string; apiVersion: string; metadata: { namespace?: string } };
        const { kind, apiVersion, metadata } = manifest;
        const scope = metadata.namespace === undefined ? '' : `/namespaces/${metadata.namespace}`;
        if (apiVersion.startsWith('rbac')) await create(`/apis/${apiVersion}${scope}/${kind.toLowerCase()}s`, manifest);
      }
      const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${namespace}/token`;
      token = (await create(path, { spec: {} })).body.status.token;
    });
    afterAll(async () => {
      await nodes?.stop();
      await kubelet?.close();
      await admin?.close();
      await controlPlane?.stop();
      directories.removeAll();
    });

    async function create(path: string, body: object): Promise<KubeResponse> {
      const response = await admin.request('POST', path, { body });
      expect(response).toMatchObject({ status: 201 });
      return response;
    }

    async function signingRequests(): Promise<readonly SigningRequest[]> {
      return (await admin.request('GET', csrPath)).body.items;
    }

    it('requests one certificate for all nodes as its own user; approved, kube-controller-manager signs it, and logs are read', async () => {
      const cloud = new FakeCloud({ clock: systemClock, startMs: 100, stopMs: 100 });
      const provider = cloud.asProvider({ logs: async ({ name }) => Readable.from([Buffer.from(`of ${name}\n`)]) });
      const logger = recordingLogger();
      nodes = createVirtualNodes({ client: kubeConfigOf(controlPlane, token), provider, listPeriodMs: 200, logger });
      const nodeStatus = () => ({ capacity: { cpu: '100', memory: '100Gi', pods: '1000' } });
      nodes.add({ nodeName: 'cloud-a', addresses: ['10.1.2.3'], nodeStatus });
      nodes.add({ nodeName: 'cloud-b', addresses: ['127.0.0.1'], nodeStatus });
      kubelet = await serveKubeletAPI(nodes.kubelet, {
        ...{ runtime: nodes.kubelet, host: '127.0.0.1', port: 0, logger },
        ...{ serverTLSBootstrap: true, certDirectory: directories.create() },
        authentication: { clientCAFile: join(controlPlane.dir, 'ca.crt') },
      });
      nodes.start();
      const spec = { nodeName: 'cloud-b', containers: [{ name: 'app', image: 'app:1' }] };
      const pod = { metadata: { name: 'web' }, spec: { ...spec, automountServiceAccountToken: false } };
      // kube-controller-manager makes the service account of the pod.
      await expect.poll(async () => (await admin.request('POST', pods, { body: pod })).status).toBe(201);
      const phase = async () => (await admin.request('GET', `${pods}/web`)).body.status.phase;
      await expect.poll(phase).toBe('Running');
      await expect.poll(signingRequests, { timeout: 30_000 }).toHaveLength(1);
      const [request] = await signingRequests();
      expect(request).toMatchObject({
        spec: {
          signerName: 'kubernetes.io/kubelet-serving',
          username: 'system:serviceaccount:virtual-nodes:virtual-nodes',
          usages: ['digital signature', 'server auth'],
        },
        status: {},
      });
      expect(await admin.request('GET', `${pods}/web/log`)).toMatchObject({
        status: 500,
        body: { message: expect.stringMatching(/tls|EOF|reset/) },
      });

      const { name } = request!.metadata;
      const conditions = [{ type: 'Approved', status: 'True', reason: 'Test' }];
      const approved = await admin.request('PATCH', `${csrPath}/${name}/approval`, {
        ...{ body: { status: { conditions } }, contentType: 'application/strategic-merge-patch+json' },
      });
      expect(approved).toMatchObject({ status: 200 });
      await expect
        .poll(() => admin.request('GET', `${pods}/web/log`), { timeout: 30_000 })
        .toMatchObject({
          status: 200,
          body: 'of web\n',
        });
      const signed = (await signingRequests())[0]!.status.certificate!;
      const certificate = new X509Certificate(Buffer.from(signed, 'base64'));
      expect(certificate.subject.split('\n').toSorted()).toEqual(['CN=system:node:cloud-a', 'O=system:nodes']);
      expect(certificate.subjectAltName).toBe('IP Address:10.1.2.3, IP Address:127.0.0.1');
      expect([await signingRequests(), logger.errors]).toEqual([[expect.anything()], []]);
    });

    it('is refused to the user of another node', async () => {
      const { pem } = createSigningRequest({
        ...{ commonName: 'system:node:cloud-a', organization: 'system:nodes', hosts: ['127.0.0.1'] },
      });
      const spec = {
        ...{ request: Buffer.from(pem).toString('base64'), signerName: 'kubernetes.io/kubelet-serving' },
        usages: ['digital signature', 'server auth'],
      };
      const body = { metadata: { generateName: 'csr-' }, spec };
      const refused = await admin.request('POST', csrPath, { token: controlPlane.nodeToken('cloud-b'), body });
      expect(refused).toMatchObject({
        status: 403,
        body: { message: expect.stringContaining('can only create a node CSR with CN=system:node:cloud-b') },
      });
    });
  },
);

interface SigningRequest {
  readonly metadata: { readonly name: string };
  readonly spec: object;
  readonly status: { readonly certificate?: string };
}
