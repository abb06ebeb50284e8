import { X509Certificate } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Logger } from 'kubelet-status-manager';
import { startClientCertificateManager } from 'kubelet-status-manager/agent';
import { createPodClient, type HTTPPodClient } from 'kubelet-status-manager/http';
import { AgentError } from '../node-agent/agent-error.ts';
import type { CleanUps } from '../node-agent/clean-ups.ts';
import { type KubeConfigFile, readKubeconfig } from '../node-agent/read-kubeconfig.ts';

type Entry = Readonly<Record<string, string | undefined>>;

export interface ClientCertificateOptions {
  readonly nodeName: string;
  /** The files of `--kubeconfig` and `--bootstrap-kubeconfig`. */
  readonly kubeconfig: string;
  readonly bootstrapKubeconfig: string | undefined;
  readonly certDirectory: string;
}

/**
 * Writes the kubeconfig of the node, with the API server of `bootstrapKubeconfig` and the certificate that will be in
 * `certDirectory`, unless there is one whose certificate has not expired. Source: kubelet `bootstrap.LoadClientConfig`.
 * @throws AgentError
 */
export async function writeNodeKubeconfig(options: ClientCertificateOptions): Promise<void> {
  const { kubeconfig, bootstrapKubeconfig, certDirectory } = options;
  if (bootstrapKubeconfig === undefined || (await hasValidCertificate(kubeconfig))) return;
  const bootstrap = await readKubeconfig(bootstrapKubeconfig, '--bootstrap-kubeconfig');
  const { cluster } = currentEntries(bootstrap);
  const authority = cluster['certificate-authority'];
  const text = JSON.stringify(
    {
      ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'default' },
      clusters: [
        {
          name: 'default',
          cluster: {
            ...cluster,
            ...(authority && { 'certificate-authority': resolve(bootstrap.kubeConfigDir, authority) }),
          },
        },
      ],
      users: [
        {
          name: 'default',
          user: { 'client-certificate': currentFile(certDirectory), 'client-key': currentFile(certDirectory) },
        },
      ],
      contexts: [{ name: 'default', context: { cluster: 'default', user: 'default' } }],
    },
    undefined,
    2,
  );
  try {
    await writeFile(`${kubeconfig}.tmp`, `${text}\n`, { mode: 0o600 });
    await rename(`${kubeconfig}.tmp`, kubeconfig);
  } catch (error) {
    throw AgentError.from(error, `--kubeconfig ${kubeconfig}`);
  }
}

/**
 * Requests the certificate of the kubeconfig, if there is none, and renews it.
 *
 * Divergence: also without `--rotate-certificates` if there is a bootstrap kubeconfig, and a new certificate is used once
 * the API server has accepted it.
 * @throws AgentError
 */
export async function rotateClientCertificate(
  { nodeName, kubeconfig, bootstrapKubeconfig, certDirectory }: ClientCertificateOptions,
  client: HTTPPodClient,
  { logger, cleanUps }: { readonly logger: Logger; readonly cleanUps: CleanUps },
): Promise<void> {
  const node = await readKubeconfig(kubeconfig);
  if (certificateFile(node) !== currentFile(certDirectory))
    throw new AgentError(
      `--rotate-certificates: the user in ${kubeconfig} has another client-certificate than ${currentFile(certDirectory)}`,
    );
  const open = ({ kubeConfig, kubeConfigDir }: KubeConfigFile): HTTPPodClient => {
    const opened = createPodClient(kubeConfig, { kubeConfigDir, logger });
    cleanUps.add('connections for certificates', () => opened.transport.close());
    return opened;
  };
  const bootstrap =
    bootstrapKubeconfig === undefined
      ? undefined
      : open(await readKubeconfig(bootstrapKubeconfig, '--bootstrap-kubeconfig'));
  const manager = startClientCertificateManager({
    ...{ nodeName, certDirectory, logger, requests: client.transport, bootstrapRequests: bootstrap?.transport },
    verify: async ({ cert, key }) => {
      const user = { 'client-certificate-data': toBase64(cert), 'client-key-data': toBase64(key) };
      const users = node.kubeConfig.users?.map((one) => ({ ...one, user })) ?? [];
      const { transport } = createPodClient(
        { ...node.kubeConfig, users },
        { kubeConfigDir: node.kubeConfigDir, logger },
      );
      try {
        const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
        await transport.request('POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', { body });
      } catch (error) {
        // The user is known, but older API servers have no such reviews.
        if (![403, 404].includes((error as { statusCode?: number }).statusCode ?? 0)) throw error;
      } finally {
        await transport.close();
      }
    },
  });
  cleanUps.add('client certificate', () => manager.stop());
}

function currentFile(certDirectory: string): string {
  return join(resolve(certDirectory), 'kubelet-client-current.pem');
}

/** Source: kubelet `isClientConfigStillValid`. */
async function hasValidCertificate(kubeconfig: string): Promise<boolean> {
  try {
    const file = await readKubeconfig(kubeconfig);
    const data = currentEntries(file).user['client-certificate-data'];
    const path = certificateFile(file);
    const pem = data === undefined && path !== undefined ? await readFile(path) : Buffer.from(data ?? '', 'base64');
    return Date.parse(new X509Certificate(pem).validTo) > Date.now();
  } catch {
    // There is none, or it cannot be read: another is written.
    return false;
  }
}

function certificateFile(file: KubeConfigFile): string | undefined {
  const path = currentEntries(file).user['client-certificate'];
  return path === undefined ? undefined : resolve(file.kubeConfigDir, path);
}

/** The cluster and the user of the current context; empty where there is none. */
function currentEntries({ kubeConfig }: KubeConfigFile): { readonly cluster: Entry; readonly user: Entry } {
  const { contexts, clusters, users, 'current-context': current } = kubeConfig;
  const { cluster, user } = (contexts?.find(({ name }) => name === current)?.context ?? {}) as Entry;
  return {
    cluster: (clusters?.find(({ name }) => name === cluster)?.cluster ?? {}) as Entry,
    user: (users?.find(({ name }) => name === user)?.user ?? {}) as Entry,
  };
}

function toBase64(text: string): string {
  return Buffer.from(text).toString('base64');
}
