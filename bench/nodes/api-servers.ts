import { APIServer } from 'kubelet-status-manager/testing';
import { type KubeConfigObject, startControlPlane } from '../../test/support/control-plane.ts';
import { KubeHTTP } from '../../test/support/kube-http.ts';
import { cpuMsOf } from './cpu-of.ts';

/** What an API server has handled since its start, and its watches. */
export interface Requests {
  /** GET of single pods. */
  readonly podReads: number;
  /** PATCH and PUT of pods. */
  readonly podWrites: number;
  /** Watches that are open. */
  readonly watches: number;
}

/** An API server of the benchmark. */
export interface BenchServer {
  readonly version: string;
  readonly kubeConfig: KubeConfigObject;
  readonly http: KubeHTTP;
  requests(): Promise<Requests>;
  /** User and system time of its processes, etcd included; undefined where it cannot be told. */
  cpuMs(): number | undefined;
  stop(): Promise<void>;
}

/** Its requests are those of its metrics. */
export async function startKubeAPIServer(): Promise<BenchServer> {
  const controlPlane = await startControlPlane();
  const kubeConfig = controlPlane.kubeConfig('admin');
  const http = httpOf(kubeConfig);
  return {
    version: `kube-apiserver ${(await http.request('GET', '/version')).body.gitVersion}`,
    kubeConfig,
    http,
    async requests() {
      const metrics: string = (await http.request('GET', '/metrics')).body;
      return requestsOf(metrics.split('\n'));
    },
    cpuMs: () => cpuMsOf(controlPlane.pids()),
    async stop() {
      await http.close();
      await controlPlane.stop();
    },
  };
}

/** The API server in memory, in this process. */
export async function startAPIServer(): Promise<BenchServer> {
  const counted = { podReads: 0, podWrites: 0 };
  const server = await APIServer.start({
    onRequest({ method, path }) {
      // A dry run, as of the check of permissions, writes nothing.
      const isPod = /\/pods\/[^/?]/.test(path) && !path.includes('dryRun=All');
      if (isPod && method === 'GET') counted.podReads++;
      if (isPod && (method === 'PATCH' || method === 'PUT')) counted.podWrites++;
    },
  });
  const kubeConfig = server.kubeconfig() as KubeConfigObject;
  const http = httpOf(kubeConfig);
  return {
    version: 'APIServer of kubelet-status-manager/testing',
    kubeConfig,
    http,
    requests: async () => ({ ...counted, watches: server.inFlight.watches }),
    // It is in this process, as the watch of the benchmark.
    cpuMs: () => undefined,
    async stop() {
      await http.close();
      await server.close();
    },
  };
}

function httpOf({ clusters, users }: KubeConfigObject): KubeHTTP {
  const { server: url, 'certificate-authority-data': caData } = clusters[0]!.cluster;
  return new KubeHTTP({ url, caData, token: users[0]!.user.token });
}

/** Reads `apiserver_request_total` and `apiserver_longrunning_requests`. */
function requestsOf(metrics: readonly string[]): Requests {
  const sum = (metric: string, labels: RegExp): number =>
    metrics
      .filter((line) => line.startsWith(`${metric}{`) && labels.test(line))
      .reduce((total, line) => total + Number(line.slice(line.lastIndexOf(' '))), 0);
  return {
    podReads: sum('apiserver_request_total', /resource="pods",.*verb="GET"/),
    podWrites: sum('apiserver_request_total', /dry_run="",.*resource="pods",.*verb="(PATCH|PUT)"/),
    watches: sum('apiserver_longrunning_requests', /verb="WATCH"/),
  };
}
