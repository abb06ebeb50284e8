import { APIServer } from '../../src/api-server/index.ts';
import {
  controlPlaneAssets,
  controlPlaneAvailable,
  kubeAPIServerVersion,
  startControlPlane,
} from '../support/control-plane.ts';
import { KubeHTTP } from '../support/kube-http.ts';
import { PodAPI } from './pod-api.ts';
import { isAsNewest, type VersionFactName } from './version-facts.ts';

/** A running server with the Nodes node-a and node-b, and a user for node-c that has no Node yet. */
export interface ContractServer {
  readonly url: string;
  /** Absent for a server without TLS. */
  readonly caData?: string;
  readonly adminToken: string;
  nodeToken(nodeName: string): string;
  /** Sends requests as the admin. */
  readonly http: KubeHTTP;
  readonly pods: PodAPI;
  /** Compacts the server's history, so that a watch from an earlier resourceVersion is too old. */
  forgetHistory(): Promise<void>;
  /** Stops the server as a crash would; connections are cut. */
  kill(): Promise<void>;
  /** Starts it again at the same address, with all its objects. */
  startAgain(): Promise<void>;
  stop(): Promise<void>;
}

export interface ContractServerKind {
  /** The reason if it is not available. */
  readonly name: string;
  readonly available: boolean;
  /** The version of kube-apiserver, or the version that APIServer imitates: `1.37.1`. */
  readonly version: string;
  /** Whether it behaves as the newest version does; see version-facts.ts. */
  isAsNewest(fact: VersionFactName): boolean;
  start(): Promise<ContractServer>;
}

const EXISTING_NODES = ['node-a', 'node-b'];
const NODE_NAMES = [...EXISTING_NODES, 'node-c'];
/** Time limit for one kube-apiserver and all cases of a test file. */
export const START_TIMEOUT_MS = 90_000;

const newestVersion = '1.37.1';

const minorVersion = (version: string): string => version.split('.', 2).join('.');

function kubeAPIServer(assets: string): ContractServerKind {
  const version = kubeAPIServerVersion(assets);
  return {
    name: version === newestVersion ? 'kube-apiserver' : `kube-apiserver ${version}`,
    available: true,
    version,
    isAsNewest: (fact) => isAsNewest(version, fact),
    async start() {
      const controlPlane = await startControlPlane({ assets, nodeNames: NODE_NAMES });
      const { url, caData, adminToken } = controlPlane;
      const http = new KubeHTTP({ url, caData, token: adminToken });
      await createNodes(http);
      return {
        url,
        caData,
        adminToken,
        nodeToken: (nodeName) => controlPlane.nodeToken(nodeName),
        http,
        pods: new PodAPI(http),
        // Its watch cache starts empty.
        forgetHistory: async () => {
          await controlPlane.killAPIServer();
          await controlPlane.startAPIServer();
        },
        kill: () => controlPlane.killAPIServer(),
        startAgain: () => controlPlane.startAPIServer(),
        stop: async () => {
          await http.close();
          await controlPlane.stop();
        },
      };
    },
  };
}

/** The reason in the names of skipped tests why there is no real server. */
function skipped(reason: string): ContractServerKind {
  return {
    name: `kube-apiserver (skipped: ${reason})`,
    available: false,
    version: newestVersion,
    isAsNewest: () => true,
    start: () => Promise.reject(new Error(reason)),
  };
}

const inMemoryAPIServer: ContractServerKind = {
  name: 'APIServer',
  available: true,
  version: newestVersion,
  isAsNewest: () => true,
  async start() {
    const server = await APIServer.start({ nodeUsers: NODE_NAMES });
    const { url, token } = server;
    const caData = Buffer.from(server.certificateAuthority).toString('base64');
    const http = new KubeHTTP({ url, caData, token });
    for (const name of EXISTING_NODES) server.nodes.create(name);
    return {
      url,
      caData,
      adminToken: token,
      nodeToken: (nodeName) => server.nodeToken(nodeName),
      http,
      pods: new PodAPI(http),
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

const { available, reason } = controlPlaneAvailable();

/** The in-memory APIServer, and each kube-apiserver that there is. */
export const contractServers: readonly ContractServerKind[] = [
  inMemoryAPIServer,
  ...(available ? controlPlaneAssets().map(kubeAPIServer) : [skipped(reason)]),
];

/** The kube-apiserver that APIServer is compared with, request by request: one of the version that it behaves as. */
export const comparedServer: ContractServerKind = findCompared();

function findCompared(): ContractServerKind {
  const [first, ...more] = contractServers.slice(1);
  const isSame = ({ version }: ContractServerKind): boolean => minorVersion(version) === minorVersion(newestVersion);
  return (
    [first!, ...more].find(isSame) ??
    skipped(`it is ${first!.version}, and APIServer behaves as ${minorVersion(newestVersion)}`)
  );
}

async function createNodes(http: KubeHTTP): Promise<void> {
  for (const name of EXISTING_NODES) {
    await http.request('POST', '/api/v1/nodes', { body: { apiVersion: 'v1', kind: 'Node', metadata: { name } } });
  }
}
