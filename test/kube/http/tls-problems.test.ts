import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { describeAPIError } from '../../../src/kube/client/api-error.ts';
import type { KubeConfigSource } from '../../../src/kube/http/kube-config-types.ts';
import { createKubeTransport } from '../../../src/kube/http/transport.ts';
import { createSelfSignedCertificate } from '../../../src/shared/x509.ts';
import { loadClientNode } from '../../support/client-node.ts';
import { kubeConfig } from './kube-configs.ts';
import { base64, startKubeServer, status } from './kube-server.ts';

async function failureOf(config: KubeConfigSource): Promise<string> {
  const transport = createKubeTransport(config, { env: {} });
  const error: unknown = await transport.request('GET', '/version').catch((thrown: unknown) => thrown);
  await transport.close();
  return (error as Error).message;
}

describe('a TLS connection that fails is explained in plain words, with what to do', () => {
  it('the CA of another cluster', async () => {
    await using server = await startKubeServer({ tls: true });
    const other = createSelfSignedCertificate({ commonName: 'other', hosts: [] }, Date.now(), { isAuthority: true });
    const config = kubeConfig(server.url, {}, { 'certificate-authority-data': base64(other.pem) });
    expect(await failureOf(config)).toMatch(
      /failed: (SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_VERIFY_LEAF_SIGNATURE) \(the server's certificate is not signed by an authority that the kubeconfig trusts: set `certificate-authority` to the cluster's CA\)$/,
    );
  });

  it('a certificate for other names', async () => {
    await using server = await startKubeServer({ tls: true, certificate: 'server-name' });
    expect(await failureOf(kubeConfig(server.url))).toMatch(
      /ERR_TLS_CERT_ALTNAME_INVALID \(the server's certificate does not have this name: use one that it has as `server` in the kubeconfig, or as `tls-server-name`\)$/,
    );
  });

  it('a certificate that has expired', async () => {
    const yearsAgo = Date.now() - 3 * 365 * 86_400_000;
    const names = { commonName: 'old', hosts: ['127.0.0.1'] };
    const { key, pem } = createSelfSignedCertificate(names, yearsAgo, { isAuthority: true });
    const server = createServer({ key, cert: pem }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    expect(await failureOf(kubeConfig(url, {}, { 'certificate-authority-data': base64(pem) }))).toMatch(
      /CERT_HAS_EXPIRED \(the server's certificate, or its authority's, has expired: renew it, or correct the clock here\)$/,
    );
    server.close();
  });

  it('a server without TLS', async () => {
    await using server = await startKubeServer();
    expect(await failureOf(kubeConfig(server.url.replace('http:', 'https:')))).toMatch(
      /\(the server does not speak TLS: correct the scheme or the port of `server`\)$/,
    );
  });

  it.each([
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
    'SELF_SIGNED_CERT_IN_CHAIN',
    'DEPTH_ZERO_SELF_SIGNED_CERT',
    'CERT_NOT_YET_VALID',
  ])('%s, by any client', (code) => {
    const { kind, message } = describeAPIError(Object.assign(new Error('fetch failed'), { code }));
    expect(kind).toBe('network');
    expect(message).toMatch(/\(the server's certificate.*: (set|correct) .*\)$/);
  });
});

describe('a refusal of a request without credentials says that none were sent', () => {
  const none = 'no credentials were sent: the user of the kubeconfig has none';
  const clientNode = `${none} in client-node's KubeConfig, which drops \`tokenFile\`: pass the kubeconfig as a plain object instead`;

  it.each([401, 403])('%i', async (code) => {
    await using server = await startKubeServer();
    server.respond = (_request, response) => status(response, code, 'User "system:anonymous" cannot list pods');
    expect(await failureOf(kubeConfig(server.url))).toContain(`(${none})`);
    const { KubeConfig } = await loadClientNode();
    const loaded = new KubeConfig();
    loaded.loadFromString(JSON.stringify(kubeConfig(server.url, { tokenFile: '/var/run/token' })));
    expect(await failureOf(loaded)).toContain(`(${clientNode})`);
    const sent = await failureOf(kubeConfig(server.url, { token: 'opaque' }));
    expect(sent).not.toContain('no credentials were sent');
  });

  it('by any client', () => {
    const body = { kind: 'Status', code: 403, reason: 'Forbidden', message: 'User "system:anonymous" cannot get path' };
    expect(describeAPIError(body).message).toBe(
      '403 Forbidden: User "system:anonymous" cannot get path (no credentials were sent, or they did not arrive)',
    );
  });
});
