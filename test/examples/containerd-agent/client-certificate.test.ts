import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { writeNodeKubeconfig } from '../../../examples/containerd-agent/client-certificate.ts';
import { createSelfSignedCertificate } from '../../../src/shared/x509.ts';
import { TestDirectories } from '../../support/directories.ts';

const directories = new TestDirectories();
let folder: string;
const file = (name: string): string => join(folder, name);

beforeEach(() => {
  folder = directories.create();
  mkdirSync(file('etc'));
  const cluster = { server: 'https://192.0.2.1:6443', 'certificate-authority': 'pki/ca.crt' };
  writeFileSync(file('etc/bootstrap'), kubeconfig({ token: 'abcdef.0123456789abcdef' }, cluster));
});
afterEach(() => directories.removeAll());

function kubeconfig(user: object, cluster: object = { server: 'https://192.0.2.2:6443' }): string {
  return JSON.stringify({
    clusters: [{ name: 'c', cluster }],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  });
}

/** A certificate that was issued that many days ago, for a year. */
function certificate(ageDays: number): string {
  return createSelfSignedCertificate({ commonName: 'node', hosts: ['node'] }, Date.now() - ageDays * 86_400_000).pem;
}

async function write(bootstrapKubeconfig: string | undefined = file('etc/bootstrap')): Promise<string> {
  const paths = { kubeconfig: file('kubeconfig'), certDirectory: file('pki') };
  await writeNodeKubeconfig({ nodeName: 'node-a', bootstrapKubeconfig, ...paths });
  return readFileSync(file('kubeconfig'), 'utf8');
}

describe('writeNodeKubeconfig', () => {
  it('writes a kubeconfig with the API server of the bootstrap kubeconfig and the certificate that will be issued', async () => {
    const text = await write();
    const current = file('pki/kubelet-client-current.pem');
    expect(JSON.parse(text)).toMatchObject({
      clusters: [{ cluster: { server: 'https://192.0.2.1:6443', 'certificate-authority': file('etc/pki/ca.crt') } }],
      users: [{ user: { 'client-certificate': current, 'client-key': current } }],
    });
    expect(text).not.toContain('abcdef');
    expect(statSync(file('kubeconfig')).mode & 0o777).toBe(0o600);
  });

  it.each<[string, () => string]>([
    ['whose certificate has expired', () => kubeconfig({ 'client-certificate-data': btoa(certificate(366)) })],
    ['whose certificate does not exist', () => kubeconfig({ 'client-certificate': 'none.pem' })],
    ['without a certificate', () => kubeconfig({ token: 'a' })],
    ['that is damaged', () => '{'],
  ])('replaces a kubeconfig %s', async (_name, text) => {
    writeFileSync(file('kubeconfig'), text());
    expect(await write()).toContain('https://192.0.2.1:6443');
  });

  it('keeps a kubeconfig whose certificate is valid, in the file or beside it', async () => {
    const embedded = kubeconfig({ 'client-certificate-data': btoa(certificate(300)) });
    writeFileSync(file('kubeconfig'), embedded);
    expect(await write()).toBe(embedded);
    writeFileSync(file('node.crt'), certificate(300));
    const named = kubeconfig({ 'client-certificate': 'node.crt' });
    writeFileSync(file('kubeconfig'), named);
    expect(await write()).toBe(named);
  });

  it('names the option of a bootstrap kubeconfig that cannot be read', async () => {
    await expect(write(file('none'))).rejects.toThrow(`--bootstrap-kubeconfig ${file('none')}: `);
  });
});
