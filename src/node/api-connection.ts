import { setMaxListeners } from 'node:events';
import { withDeadline } from '../shared/deadline.ts';
import type { NodeContext } from './node-context.ts';
import { refuseOption } from '../shared/errors.ts';
import { type HTTPPodClient, podClientOf } from '../kube/http/http-pod-client.ts';
import type { KubeConfigSource } from '../kube/http/kube-config-types.ts';
import { createKubeTransport, createSharingTransport } from '../kube/http/transport.ts';
import type { APIRequests } from '../kube/client/api-requests.ts';

/** The agent's connection to the API server. */
export interface APIConnection {
  readonly podClient: HTTPPodClient;
  /** Requests, each with a time-out, which `abort` aborts. */
  readonly requests: APIRequests;
  /** Aborts the requests in flight, and rejects new ones. */
  abort(): void;
  /** Closes the connections if the agent created them. */
  close(): Promise<void>;
}

/** Time-out of a request whose sender sets no shorter one. */
const requestTimeoutMs = 60_000;

interface APIConnectionOptions extends Pick<NodeContext, 'clock' | 'logger'> {
  /** Maximum number of connections for requests. */
  readonly connections?: number;
  /** For many nodes in one process: their watches share connections, and so do their heartbeats. */
  readonly sharesSessions?: boolean;
}

/**
 * @param options of the client, if it is not one yet
 * @throws StatusManagerError INVALID_OPTION if `client` is not a client, INVALID_ARGUMENT for an invalid kubeconfig
 */
export function openAPIConnection(
  client: HTTPPodClient | KubeConfigSource,
  { sharesSessions = false, ...options }: APIConnectionOptions,
): APIConnection {
  if (typeof client !== 'object' || client === null)
    refuseOption('client', 'a KubeConfig, a kubeconfig object or a client of createPodClient');
  const isOwn = !isHTTPPodClient(client);
  const createTransport = sharesSessions ? createSharingTransport : createKubeTransport;
  const podClient = isOwn ? podClientOf(createTransport(client, options)) : client;
  const { transport } = podClient;
  const { clock } = options;
  const aborted = new AbortController();
  setMaxListeners(0, aborted.signal);
  return {
    podClient,
    requests: {
      request: (method, path, { signal, ...options } = {}) =>
        withDeadline(clock, requestTimeoutMs, [aborted.signal, signal], (deadline) =>
          transport.request(method, path, { ...options, signal: deadline.signal }),
        ),
      closeIdle: () => transport.closeIdle(),
    },
    abort: () => aborted.abort(),
    close: async () => {
      if (isOwn) await transport.close();
    },
  };
}

function isHTTPPodClient(client: object): client is HTTPPodClient {
  const { transport, getPod } = client as Partial<HTTPPodClient>;
  if (typeof getPod === 'function' && transport === undefined)
    refuseOption('client', 'a client of createPodClient, which has the connections of a pod client as `transport`');
  return typeof getPod === 'function' && typeof transport?.request === 'function';
}
