import { guardedEventRecorder, guardedRecordMetric, NodeWatch, openAPIConnection } from '../node/index.ts';
import { type Entropy, systemEntropy } from '../shared/entropy.ts';
import { resolveClock, resolveLogger, resolveRandom } from '../shared/ports.ts';
import { resolveLimiter } from '../status-manager/options.ts';
import { PodMaterialsReader } from './materials/pod-materials-reader.ts';
import { NodeLines } from './node-lines.ts';
import { OrphanedPods } from './pods/orphaned-pods.ts';
import { ProviderCalls } from './calls/provider-calls.ts';
import { ProviderPodLister } from './calls/provider-pod-lister.ts';
import { VirtualNodes } from './virtual-nodes.ts';
import { resolveProviderOptions, type VirtualNodesOptions } from './virtual-nodes-options.ts';

/** More connections do not make a busy API server faster. Requests for Nodes and Leases have as many of their own. */
const connections = 16;

/**
 * Creates the virtual nodes of a process: whole pods run in a cloud, a fleet or another cluster, through a `PodProvider`.
 * Each node registers its Node, admits pods as the kubelet does, has the provider create, update and delete them, and keeps
 * their statuses on the API server up to date. All nodes share one client, one provider and one list of its pods. Call
 * `add()` for each node, `start()`, and finally `stop()`.
 *
 * Sets no timer and sends nothing before `start()`. Source: virtual-kubelet `PodController`, `NodeController`.
 *
 * @throws StatusManagerError INVALID_OPTION; `path` names the option. INVALID_ARGUMENT for an invalid kubeconfig.
 *
 * @example
 * ```ts
 * import { createVirtualNodes } from 'kubelet-status-manager/virtual-nodes';
 * import { inClusterConfig } from 'kubelet-status-manager/http';
 *
 * const nodes = createVirtualNodes({ client: inClusterConfig(), provider });
 * nodes.add({ nodeName: 'cloud-a', nodeStatus: () => ({ capacity: { cpu: '1000', memory: '4Ti', pods: '500' } }) });
 * nodes.start();
 * await nodes.whenReady();
 * process.once('SIGTERM', () => void nodes.stop({ drain: true }));
 * ```
 */
export function createVirtualNodes(options: VirtualNodesOptions): VirtualNodes {
  return createVirtualNodesOn(systemEntropy, options);
}

/** `createVirtualNodes` with any source of identities. */
export function createVirtualNodesOn(entropy: Entropy, options: VirtualNodesOptions): VirtualNodes {
  const resolved = resolveProviderOptions(options);
  const { provider } = options;
  const logger = resolveLogger(options.logger);
  const clock = resolveClock(options.clock);
  const random = resolveRandom(options.random, logger);
  const recordMetric = guardedRecordMetric(options.metrics, logger);
  const api = openAPIConnection(options.client, { clock, logger, connections, sharesSessions: true });
  const { transport } = api.podClient;
  const calls = new ProviderCalls({ ...resolved, provider, clock, recordMetric, logger });
  return new VirtualNodes({
    ...{ ...resolved, options, provider, api, calls, entropy },
    context: { clock, logger, random, recordMetric },
    endpoints: { byNode: new Map() },
    nodeLines: new NodeLines({ clock, logger }),
    limiter: resolveLimiter(options.statusManager ?? {}, clock),
    eventRecorder: options.eventRecorder && guardedEventRecorder(options.eventRecorder, logger),
    lister: new ProviderPodLister({ ...resolved, provider, calls, clock, logger }),
    orphanedPods: new OrphanedPods(api.podClient, clock),
    nodeWatch: new NodeWatch({ transport, clock, random, logger }),
    materials: new PodMaterialsReader({ requests: api.requests, transport, clock, random, logger }),
  });
}
