import { execFileSync } from 'node:child_process';
import { generateKeyPairSync, randomBytes, randomInt } from 'node:crypto';
import { once } from 'node:events';
import { accessSync, constants } from 'node:fs';
import { mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { programsFolder } from '../kubernetes/programs.ts';
import { versions } from '../kubernetes/versions.ts';
import { KubeHTTP } from './kube-http.ts';
import { makePKI } from './pki.ts';
import { ProcessGroup, type ServerProcess } from './process-group.ts';

/*
 * A real etcd and kube-apiserver for tests, benchmarks and chaos runs. It does not depend on vitest.
 *
 * KUBEBUILDER_ASSETS names the folder of the two programs, as for envtest, or several, of other versions, separated as
 * in PATH. By default it is those of `npm run kubernetes`. One control plane takes 4 to 6 s and some 400 MB: start one
 * per test file (`beforeAll`, `afterAll`) and keep tests apart by pod names. Unless `controllers` is set, nothing
 * creates service accounts or collects garbage, so pods want `automountServiceAccountToken: false` and `spec.nodeName`.
 */

const START_DEADLINE_MS = 60_000;
const START_ATTEMPTS = 3;
const POLL_MS = 50;

export interface ControlPlaneOptions {
  /** The folder of the programs. Default: the first of `controlPlaneAssets`. */
  readonly assets?: string;
  /** A user `system:node:NAME` is created for each, but no Node objects. Default `['node-a']`. */
  readonly nodeNames?: readonly string[];
  /** More flags of kube-apiserver. Default: none. */
  readonly apiServerFlags?: readonly string[];
  /** The folder for the temporary data folder, which `stop()` removes. Default: the system's. */
  readonly dir?: string;
  /** In place of a temporary folder: one whose files stay after `stop()`. */
  readonly folder?: string;
  /** Where the API server listens. Default: 127.0.0.1, which pods do not reach. */
  readonly address?: string;
  /** Whether kube-controller-manager and kube-scheduler run, too; they are in `assets`. Default: false. */
  readonly controllers?: boolean;
  /** Whether a CA signs all certificates, as in clusters. Default: the API server signs its own. */
  readonly pki?: boolean;
  /** Ends the start, and what it has started. */
  readonly signal?: AbortSignal;
}

/** A plain kubeconfig, for `KubeConfig.loadFromOptions` or `loadFromString(JSON.stringify(…))`. */
export interface KubeConfigObject {
  readonly apiVersion: 'v1';
  readonly kind: 'Config';
  readonly clusters: readonly {
    readonly name: string;
    readonly cluster: { readonly server: string; readonly 'certificate-authority-data': string };
  }[];
  readonly users: readonly { readonly name: string; readonly user: { readonly token: string } }[];
  readonly contexts: readonly {
    readonly name: string;
    readonly context: { readonly cluster: string; readonly user: string };
  }[];
  readonly 'current-context': string;
}

export interface ControlPlane {
  /** `https://ADDRESS:PORT`. It does not change when the API server is restarted. */
  readonly url: string;
  /** The CA that has signed the serving certificate, base64 of PEM. */
  readonly caData: string;
  /** The token of a user in `system:masters`. */
  readonly adminToken: string;
  /** The folder with the data and the servers' logs. */
  readonly dir: string;
  /** The token of the user `system:node:NAME` in `system:nodes`. Throws for a name that is not in `nodeNames`. */
  nodeToken(nodeName: string): string;
  /** @param user `'admin'` or a node's name */
  kubeConfig(user: string): KubeConfigObject;
  /** The process ids of etcd and the API server. */
  pids(): number[];
  /** Stops the API server gracefully (SIGTERM). */
  stopAPIServer(): Promise<void>;
  /** Stops the API server as a crash would (SIGKILL). */
  killAPIServer(): Promise<void>;
  /** Freezes the API server with SIGSTOP, which SIGCONT ends. */
  signalAPIServer(signal: 'SIGSTOP' | 'SIGCONT'): void;
  /** Starts it again on the same port and data, with more `flags`, and waits until it is ready. */
  startAPIServer(flags?: readonly string[]): Promise<void>;
  /** Stops all servers and removes the data, unless it is in a `folder` of its own. May be called twice. */
  stop(): Promise<void>;
}

/** Whether `startControlPlane` can work here. The reason is used in the names of skipped tests. */
export function controlPlaneAvailable(): { readonly available: boolean; readonly reason: string } {
  const [first] = controlPlaneAssets();
  if (first === undefined) return { available: false, reason: 'no API server: `npm run kubernetes -- api-servers`' };
  return { available: true, reason: '' };
}

/**
 * The folders with etcd and kube-apiserver, the preferred one first: those in KUBEBUILDER_ASSETS, otherwise those that
 * `npm run kubernetes` has made.
 *
 * @throws Error for a folder in KUBEBUILDER_ASSETS without the two programs
 */
export function controlPlaneAssets(): string[] {
  const chosen = (process.env['KUBEBUILDER_ASSETS'] ?? '').split(path.delimiter).filter((one) => one !== '');
  for (const folder of chosen) {
    const missing = missingBinary(folder);
    if (missing !== undefined) throw new Error(`KUBEBUILDER_ASSETS: ${folder} holds no executable ${missing}`);
  }
  if (chosen.length > 0) return chosen;
  return Object.keys(versions)
    .map((version) => programsFolder(version))
    .filter((folder) => missingBinary(folder) === undefined);
}

/** The version of the kube-apiserver in this folder: `1.37.1`. */
export function kubeAPIServerVersion(assets: string): string {
  const text = execFileSync(path.join(assets, 'kube-apiserver'), ['--version'], { encoding: 'utf8' });
  const version = /\bv(\d+\.\d+\.\d+)/.exec(text)?.[1];
  if (version === undefined) throw new Error(`kube-apiserver --version printed ${JSON.stringify(text)}`);
  return version;
}

function missingBinary(assets: string): string | undefined {
  return ['etcd', 'kube-apiserver'].find((binary) => {
    try {
      accessSync(path.join(assets, binary), constants.X_OK);
      return false;
    } catch {
      return true;
    }
  });
}

/**
 * Starts etcd and kube-apiserver with the Node authorizer, RBAC and NodeRestriction, and resolves
 * when the API server is ready and the namespace `default` exists. Its processes are stopped when
 * this process ends, however it ends.
 */
export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const { available, reason } = controlPlaneAvailable();
  if (options.assets === undefined && !available) throw new Error(`Cannot start a control plane: ${reason}`);
  // A port that was free a moment ago may be in use when a server binds it.
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await startOnce(options);
    } catch (error) {
      if (attempt === START_ATTEMPTS || !(error instanceof EarlyExitError)) throw error;
    }
  }
}

class EarlyExitError extends Error {}

async function startOnce({
  assets = controlPlaneAssets()[0] ?? '',
  nodeNames = ['node-a'],
  apiServerFlags = [],
  dir: parentDir = tmpdir(),
  folder,
  address = '127.0.0.1',
  controllers = false,
  pki: wantsPKI = false,
  signal,
}: ControlPlaneOptions): Promise<ControlPlane> {
  signal?.throwIfAborted();
  if (folder !== undefined) await mkdir(folder, { recursive: true });
  const dir = folder ?? (await mkdtemp(path.join(parentDir, 'control-plane-')));
  const tokens = new Map(['admin', ...nodeNames].map((user) => [user, randomBytes(16).toString('hex')]));
  await writeCredentials(dir, tokens);
  const pki = wantsPKI ? await makePKI(dir, address) : undefined;

  const [etcdPort, etcdPeerPort] = await freePorts(2);
  const [securePort] = await freePorts(1, address);
  const etcdUrl = `http://127.0.0.1:${etcdPort}`;
  const url = `https://${address}:${securePort}`;
  const processes = new ProcessGroup(dir, { keepsFolder: folder !== undefined });
  const caFile = pki?.caFile ?? path.join(dir, 'certs', 'apiserver.crt');
  let caData = '';
  let apiServer: ServerProcess | undefined;

  async function startAPIServer(flags: readonly string[] = []): Promise<void> {
    if (apiServer?.isAlive() === true) return;
    apiServer = processes.start('kube-apiserver', path.join(assets, 'kube-apiserver'), [
      `--etcd-servers=${etcdUrl}`,
      `--secure-port=${securePort}`,
      `--bind-address=${address}`,
      `--cert-dir=${path.join(dir, 'certs')}`,
      '--service-account-issuer=https://kubernetes.default.svc',
      `--service-account-key-file=${path.join(dir, 'sa.pub')}`,
      `--service-account-signing-key-file=${path.join(dir, 'sa.key')}`,
      `--token-auth-file=${path.join(dir, 'tokens.csv')}`,
      '--authorization-mode=Node,RBAC',
      '--enable-admission-plugins=NodeRestriction',
      ...(controllers ? [] : ['--disable-admission-plugins=ServiceAccount']),
      '--service-cluster-ip-range=10.0.0.0/24',
      ...(pki?.apiServerFlags ?? []),
      ...apiServerFlags,
      ...flags,
    ]);
    caData = await waitUntilReady(url, caFile, token('admin'), [etcd, apiServer], signal);
  }

  async function startControllers(): Promise<void> {
    const kubeConfigFile = path.join(dir, 'controllers.kubeconfig');
    await writeFile(kubeConfigFile, JSON.stringify(kubeConfig(url, caData, 'admin', token('admin'))), { mode: 0o600 });
    const ports = await freePorts(2);
    const flags = ports.map((port) => [
      `--kubeconfig=${kubeConfigFile}`,
      '--leader-elect=false',
      '--bind-address=127.0.0.1',
      `--secure-port=${port}`,
    ]);
    processes.start('kube-controller-manager', path.join(assets, 'kube-controller-manager'), [
      ...flags[0]!,
      `--service-account-private-key-file=${path.join(dir, 'sa.key')}`,
      ...(pki?.controllerManagerFlags ?? [`--root-ca-file=${caFile}`]),
    ]);
    processes.start('kube-scheduler', path.join(assets, 'kube-scheduler'), flags[1]!);
  }

  function token(user: string): string {
    const found = tokens.get(user);
    if (found === undefined) throw new Error(`No user ${user}: add it to nodeNames`);
    return found;
  }

  const etcd = processes.start('etcd', path.join(assets, 'etcd'), [
    '--data-dir',
    path.join(dir, 'etcd'),
    '--listen-client-urls',
    etcdUrl,
    '--advertise-client-urls',
    etcdUrl,
    '--listen-peer-urls',
    `http://127.0.0.1:${etcdPeerPort}`,
    '--unsafe-no-fsync',
  ]);
  try {
    // An API server would connect to any etcd on this port, so ours must be running before it is started.
    await waitFor(async () => (await fetch(`${etcdUrl}/health`)).ok, [etcd], signal);
    await startAPIServer();
    if (controllers) await startControllers();
  } catch (error) {
    await processes.end();
    throw error;
  }

  return {
    url,
    caData,
    adminToken: token('admin'),
    dir,
    nodeToken: token,
    kubeConfig: (user) => kubeConfig(url, caData, user, token(user)),
    pids: () => [etcd, apiServer].flatMap((server) => server?.pid ?? []),
    stopAPIServer: async () => apiServer?.kill('SIGTERM'),
    killAPIServer: async () => apiServer?.kill('SIGKILL'),
    signalAPIServer: (name) => apiServer?.signal(name),
    startAPIServer,
    stop: () => processes.end(),
  };
}

async function writeCredentials(dir: string, tokens: ReadonlyMap<string, string>): Promise<void> {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const users = [...tokens].map(([user, token]) =>
    user === 'admin' ? `${token},admin,admin,"system:masters"` : `${token},system:node:${user},${user},"system:nodes"`,
  );
  const files = {
    'sa.key': privateKey.export({ type: 'pkcs1', format: 'pem' }),
    'sa.pub': publicKey.export({ type: 'spki', format: 'pem' }),
    'tokens.csv': `${users.join('\n')}\n`,
  };
  for (const [name, content] of Object.entries(files)) {
    await writeFile(path.join(dir, name), content, { mode: 0o600 });
  }
}

function kubeConfig(url: string, caData: string, user: string, token: string): KubeConfigObject {
  return {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'test', cluster: { server: url, 'certificate-authority-data': caData } }],
    users: [{ name: user, user: { token } }],
    contexts: [{ name: 'test', context: { cluster: 'test', user } }],
    'current-context': 'test',
  };
}

/** Resolves with the CA as base64. */
async function waitUntilReady(
  url: string,
  caFile: string,
  token: string,
  servers: readonly ServerProcess[],
  signal?: AbortSignal,
): Promise<string> {
  let caData = '';
  await waitFor(
    async () => {
      caData = (await readFile(caFile)).toString('base64');
      const http = new KubeHTTP({ url, token, caData });
      try {
        const ready = await http.request('GET', '/readyz');
        return ready.status === 200 && (await http.request('GET', '/api/v1/namespaces/default')).status === 200;
      } finally {
        await http.close();
      }
    },
    servers,
    signal,
  );
  return caData;
}

/** Polls until the check is true; an error counts as false. Rejects if a server has exited, even after the check passed. */
async function waitFor(
  check: () => Promise<boolean>,
  servers: readonly ServerProcess[],
  signal?: AbortSignal,
): Promise<void> {
  const deadline = Date.now() + START_DEADLINE_MS;
  for (;;) {
    signal?.throwIfAborted();
    const passed = await check().catch(() => false);
    for (const server of servers) {
      if (!server.isAlive()) throw new EarlyExitError(`${server.name} exited early:\n${await server.logTail()}`);
    }
    if (passed) return;
    if (Date.now() > deadline) {
      const logs = await Promise.all(servers.map(async (server) => `${server.name}:\n${await server.logTail()}`));
      throw new Error(`Not ready within ${START_DEADLINE_MS} ms\n${logs.join('\n')}`);
    }
    await delay(POLL_MS);
  }
}

/**
 * Ports on which nobody listens. They are none of those that a kernel gives to connections and to who listens on port 0
 * (from 32768 on Linux), so another test does not get one before it is used.
 */
export async function freePorts(count: number, address = '127.0.0.1'): Promise<number[]> {
  const ports = new Set<number>();
  while (ports.size < count) {
    const port = randomInt(20_000, 30_000);
    if (await isFree(port, address)) ports.add(port);
  }
  return [...ports];
}

async function isFree(port: number, address: string): Promise<boolean> {
  const server = createServer().listen(port, address);
  try {
    await once(server, 'listening');
  } catch {
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}
