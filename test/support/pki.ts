import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runCommand } from './run-command.ts';

/** Certificates of a cluster: its CA, and what the CA has signed. */
export interface PKI {
  readonly caFile: string;
  readonly apiServerFlags: readonly string[];
  readonly controllerManagerFlags: readonly string[];
}

/** Makes the certificates of a cluster as installers do: one CA for servers, users, and the API server as client of kubelets. */
export async function makePKI(folder: string, address: string): Promise<PKI> {
  const file = (name: string): string => join(folder, name);
  const openssl = (...args: string[]): Promise<string> => runCommand('openssl', args, { cwd: folder });
  const newKey = ['req', '-newkey', 'rsa:2048', '-nodes'];
  await openssl(...newKey, '-x509', '-days', '30', '-subj', '/CN=kubernetes', '-keyout', 'ca.key', '-out', 'ca.crt');
  const sign = async (name: string, subject: string, extensions: string): Promise<void> => {
    await writeFile(file(`${name}.ext`), extensions);
    await openssl(...newKey, '-subj', subject, '-keyout', `${name}.key`, '-out', `${name}.csr`);
    const ca = ['-CA', 'ca.crt', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '30'];
    await openssl('x509', '-req', '-in', `${name}.csr`, ...ca, '-extfile', `${name}.ext`, '-out', `${name}.crt`);
  };
  await sign('api-server', '/CN=kube-apiserver', `subjectAltName=IP:${address},DNS:kubernetes.default.svc`);
  await sign('kubelet-client', '/O=system:masters/CN=kube-apiserver-kubelet-client', 'extendedKeyUsage=clientAuth');
  return {
    caFile: file('ca.crt'),
    apiServerFlags: [
      `--tls-cert-file=${file('api-server.crt')}`,
      `--tls-private-key-file=${file('api-server.key')}`,
      `--client-ca-file=${file('ca.crt')}`,
      `--kubelet-client-certificate=${file('kubelet-client.crt')}`,
      `--kubelet-client-key=${file('kubelet-client.key')}`,
    ],
    controllerManagerFlags: [
      `--cluster-signing-cert-file=${file('ca.crt')}`,
      `--cluster-signing-key-file=${file('ca.key')}`,
      `--root-ca-file=${file('ca.crt')}`,
    ],
  };
}
