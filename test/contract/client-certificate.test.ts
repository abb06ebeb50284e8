import { X509Certificate } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createPodClient, type HTTPPodClient } from 'kubelet-status-manager/http';
import { recordingLogger } from 'kubelet-status-manager/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rotateClientCertificate, writeNodeKubeconfig } from '../../examples/containerd-agent/client-certificate.ts';
import { CleanUps } from '../../examples/node-agent/clean-ups.ts';
import { readKubeconfig } from '../../examples/node-agent/read-kubeconfig.ts';
import { type ControlPlane, controlPlaneAvailable, startControlPlane } from '../support/control-plane.ts';
import { TestDirectories } from '../support/directories.ts';
import { KubeHTTP } from '../support/kube-http.ts';
import { hasOpenSSL, TestAuthority } from '../support/sign-request.ts';

interface SigningRequest {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly request: string; readonly username: string; readonly signerName: string };
  readonly status: { readonly certificate?: string };
}

const why = hasOpenSSL ? controlPlaneAvailable().reason : 'no openssl';
const requestsPath = '/apis/certificates.k8s.io/v1/certificatesigningrequests';

describe.skipIf(why !== '')(`from a bootstrap token to a node${why && ` (skipped: ${why})`}`, () => {
  const directories = new TestDirectories();
  const cleanUps = new CleanUps();
  const logger = recordingLogger();
  let authority: TestAuthority;
  let controlPlane: ControlPlane;
  let admin: KubeHTTP;

  beforeAll(async () => {
    authority = new TestAuthority();
    const apiServerFlags = ['--enable-bootstrap-token-auth', `--client-ca-file=${authority.certificateFile}`];
    controlPlane = await startControlPlane({ apiServerFlags });
    admin = new KubeHTTP({ ...controlPlane, token: controlPlane.adminToken });
    const secret = {
      metadata: { name: 'bootstrap-token-abcdef' },
      type: 'bootstrap.kubernetes.io/token',
      stringData: {
        ...{ 'token-id': 'abcdef', 'token-secret': '0123456789abcdef', 'usage-bootstrap-authentication': 'true' },
      },
    };
    await admin.request('POST', '/api/v1/namespaces/kube-system/secrets', { body: secret });
    const binding = {
      metadata: { name: 'bootstrap' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'system:node-bootstrapper' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'system:bootstrappers' }],
    };
    await admin.request('POST', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', { body: binding });
  }, 90_000);
  afterAll(async () => {
    await cleanUps.run(logger);
    await admin?.close();
    await controlPlane?.stop();
    authority?.[Symbol.dispose]();
    directories.removeAll();
  });

  const all = async (): Promise<SigningRequest[]> =>
    (await admin.request('GET', requestsPath)).body['items'] as SigningRequest[];

  /** Approves and signs the request that is pending, as the controllers do. @param sinceMinutes the certificate's age */
  async function signPending(sinceMinutes: number): Promise<string> {
    await expect
      .poll(async () => (await all()).filter(({ status }) => status.certificate === undefined).length)
      .toBe(1);
    const pending = (await all()).find(({ status }) => status.certificate === undefined)!;
    const path = `${requestsPath}/${pending.metadata.name}`;
    const conditions = [{ type: 'Approved', status: 'True', reason: 'Test', message: '' }];
    const approved = await admin.request('PUT', `${path}/approval`, { body: { ...pending, status: { conditions } } });
    const pem = Buffer.from(pending.spec.request, 'base64').toString();
    const certificate = Buffer.from(authority.sign(pem, Date.now() - sinceMinutes * 60_000)).toString('base64');
    const status = { conditions, certificate };
    const signed = await admin.request('PUT', `${path}/status`, { body: { ...approved.body, status } });
    expect(signed.status).toBe(200);
    return pending.spec.username;
  }

  it('the first certificate comes with the token, the next with the first, and the client uses each', async () => {
    const folder = directories.create();
    const file = (name: string): string => join(folder, name);
    const bootstrap = controlPlane.kubeConfig('admin');
    const users = [{ name: 'admin', user: { token: 'abcdef.0123456789abcdef' } }];
    writeFileSync(file('bootstrap'), JSON.stringify({ ...bootstrap, users }));
    const options = {
      ...{ nodeName: 'node-a', kubeconfig: file('kubeconfig'), bootstrapKubeconfig: file('bootstrap') },
      certDirectory: file('pki'),
    };
    await writeNodeKubeconfig(options);
    const { kubeConfig } = await readKubeconfig(options.kubeconfig);
    const client: HTTPPodClient = createPodClient(kubeConfig, { logger });
    cleanUps.add('client', () => client.transport.close());
    await rotateClientCertificate(options, client, { logger, cleanUps });

    expect(await signPending(95)).toBe('system:bootstrap:abcdef');
    const serial = (): string => new X509Certificate(readFileSync(file('pki/kubelet-client-current.pem'))).serialNumber;
    // It has lived for 95 % of its life: another one is requested.
    expect(await signPending(0)).toBe('system:node:node-a');
    await expect.poll(serial).toBe('02');
    const body = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node-a' } };
    await client.transport.request('POST', '/api/v1/nodes', { body });
    const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
    const path = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
    expect((await client.transport.request('POST', path, { body: review })).json()).toMatchObject({
      status: { userInfo: { username: 'system:node:node-a', groups: ['system:nodes', 'system:authenticated'] } },
    });
  });
});
