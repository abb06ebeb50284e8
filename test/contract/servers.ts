import { ApiServer } from '../../src/testing/api-server/index.ts';
import { controlPlaneAvailable, startControlPlane } from '../support/control-plane.ts';
import { KubeHttp } from '../support/kube-http.ts';
import { PodApi } from './pod-api.ts';

/** A running server with the nodes node-a and node-b, and node-c that is a user but has no Node yet. */
export interface ContractServer {
  readonly url: string;
  /** Absent where the server speaks plain HTTP. */
  readonly caData?: string;
  readonly adminToken: string;
  nodeToken(nodeName: string): string;
  /** As admin. */
  readonly http: KubeHttp;
  readonly pods: PodApi;
  /** Makes the server forget what happened up to now, so that a watch from there is too old. */
  forgetHistory(): Promise<void>;
  /** Ends the server as a crash would; connections are cut. */
  kill(): Promise<void>;
  /** Starts it again where it was, with all its objects. */
  startAgain(): Promise<void>;
  stop(): Promise<void>;
}

export interface ContractServerKind {
  /** Says why, when it is not available. */
  readonly name: string;
  readonly available: boolean;
  start(): Promise<ContractServer>;
}

const NODE_NAMES = ['node-a', 'node-b', 'node-c'];
/** Of one kube-apiserver and a test file full of cases. */
export const START_TIMEOUT_MS = 90_000;

const { available, reason } = controlPlaneAvailable();

const kubeApiServer: ContractServerKind = {
  name: available ? 'kube-apiserver' : `kube-apiserver (skipped: ${reason})`,
  available,
  async start() {
    const controlPlane = await startControlPlane({ nodeNames: NODE_NAMES });
    const { url, caData, adminToken } = controlPlane;
    const http = new KubeHttp({ url, caData, token: adminToken });
    await createNodes(http);
    return {
      url,
      caData,
      adminToken,
      nodeToken: (nodeName) => controlPlane.nodeToken(nodeName),
      http,
      pods: new PodApi(http),
      // Its watch cache begins anew.
      forgetHistory: async () => {
        await controlPlane.killApiServer();
        await controlPlane.startApiServer();
      },
      kill: () => controlPlane.killApiServer(),
      startAgain: () => controlPlane.startApiServer(),
      stop: async () => {
        await http.close();
        await controlPlane.stop();
      },
    };
  },
};

const inMemoryApiServer: ContractServerKind = {
  name: 'ApiServer',
  available: true,
  async start() {
    const server = await ApiServer.start({ nodeUsers: NODE_NAMES });
    const { url, token } = server;
    const caData = Buffer.from(server.certificateAuthority).toString('base64');
    const http = new KubeHttp({ url, caData, token });
    await createNodes(http);
    return {
      url,
      caData,
      adminToken: token,
      nodeToken: (nodeName) => server.nodeToken(nodeName),
      http,
      pods: new PodApi(http),
      forgetHistory: () => Promise.resolve(server.compact()),
      kill: () => server.kill(),
      startAgain: () => server.startAgain(),
      stop: async () => {
        await http.close();
        await server.close();
      },
    };
  },
};

export const contractServers: readonly ContractServerKind[] = [inMemoryApiServer, kubeApiServer];

async function createNodes(http: KubeHttp): Promise<void> {
  for (const name of ['node-a', 'node-b']) {
    await http.request('POST', '/api/v1/nodes', { body: { apiVersion: 'v1', kind: 'Node', metadata: { name } } });
  }
}
