import { availableParallelism, totalmem } from 'node:os';
import { setMaxListeners } from 'node:events';
import {
  APIObjects,
  ContainerConfigError,
  type HostFiles,
  expandContainerCommandAndArgs,
  makeEnvironmentVariables,
  type PodEventRecorder,
  PodScopes,
  pullCredentials,
  refusedFields,
  type RuntimeHelper,
  ServiceLister,
  systemFiles,
  volumePath,
  volumesOf,
  withoutLinks,
} from '../../node/index.ts';
import { getPodDNS } from '../container-options/pod-dns.ts';
import { generatePodHostNameAndDomain, nodenameForKernel } from '../container-options/pod-host-name.ts';
import {
  createCredentialProviders,
  type CredentialProviderOptions,
} from '../credential-providers/create-credential-providers.ts';
import { parseResolvConf } from '../container-options/resolv-conf.ts';
import type { VolumeManager } from '../volumes/volume-manager.ts';
import { makeMounts } from '../volumes/container-mounts.ts';
import { PodVolumes } from '../volumes/pod-volumes.ts';
import { type APIClientSource, resolveTransport } from '../../kube/http/resolve-transport.ts';
import type { ClockLike } from '../../shared/clock.ts';
import { refuseOption } from '../../shared/errors.ts';
import type { Logger } from '../../shared/logger.ts';
import { systemRandom } from '../../shared/entropy.ts';
import { resolveClock, resolveLogger } from '../../shared/ports.ts';
import { aBoolean } from '../../shared/option-checks.ts';

/** For a pod without a scope: it has no volumes, or has ended and must not get new ones. */
const notMounted = { signal: AbortSignal.abort(new Error('the volumes of the pod are not mounted')) };

/** Options of `createRuntimeHelper`. */
export interface RuntimeHelperOptions {
  /**
   * A `KubeConfig` of client-node, a kubeconfig object, or a client of `createPodClient`, which `close()` leaves open; as
   * a user of `system:nodes`, it reads ConfigMaps, Secrets and RuntimeClasses, watches
   * Services, and creates service account tokens. Without it, pods cannot use these.
   */
  readonly client?: APIClientSource | undefined;
  /** Folders of pods are below it; that of `createCRIRuntime`. Default: `/var/lib/kubelet`. */
  readonly rootDirectory?: string | undefined;
  /**
   * False if containers are processes of the agent's own user. Then nothing is mounted, and nothing gets another owner or
   * group, so neither root nor Linux is needed: volumes in memory and Secrets are folders that only this user can open,
   * the `hostPath` of a mount is the volume itself, and `/etc/hosts` is the machine's. Default: true.
   */
  readonly mounts?: boolean | undefined;
  /** Addresses of the cluster's DNS. Default: none; pods use the node's DNS. kubelet: `--cluster-dns`. */
  readonly clusterDNS?: readonly string[] | undefined;
  /** Default: `cluster.local`. kubelet: `--cluster-domain`. */
  readonly clusterDomain?: string | undefined;
  /** The node's resolver configuration; empty: none. Default: `/etc/resolv.conf`. kubelet: `--resolv-conf`. */
  readonly resolvConf?: string | undefined;
  /** Addresses of the node, primary first: `status.hostIP` in environments. Default: none. */
  readonly hostIPs?: readonly string[] | undefined;
  /**
   * Allocatable resources of the node, for `resourceFieldRef` and volumes in memory. Default: CPUs and memory of the
   * machine.
   */
  readonly allocatable?: Readonly<Record<string, string>> | undefined;
  /** Programs that provide the node's credentials for images, for example from a cloud. Default: none. */
  readonly credentialProviders?: CredentialProviderOptions | undefined;
  /** Receives `FailedMount` and warnings about DNS. Default: they are only logged. */
  readonly eventRecorder?: PodEventRecorder | undefined;
  /** Default: the system clock. */
  readonly clock?: ClockLike | undefined;
  /** Default: pino at level `warn`. */
  readonly logger?: Partial<Logger> | undefined;
}

/**
 * Provides pods with everything but containers, like the kubelet: command, environment, `/etc/hosts`, DNS, image pull
 * secrets, and volumes (emptyDir, hostPath, configMap, secret, downwardAPI, projected). It is the `helper` of
 * `createCRIRuntime`; another runtime calls it in its own `createContainer`. Its `volumeManager` is that of
 * `createNodeAgent`. Volumes need root, unless `mounts` is false.
 *
 * With the first pod, it begins to watch the Services of the cluster. Call `close()` after the agent has stopped: the watch,
 * and running credential providers keep the process alive.
 * @throws StatusManagerError INVALID_OPTION
 *
 * @example
 * ```ts
 * import { createNodeAgent, createRuntimeHelper } from 'kubelet-status-manager/agent';
 * import { createCRIRuntime } from 'kubelet-status-manager/cri';
 * import { createPodClient } from 'kubelet-status-manager/http';
 *
 * const client = createPodClient(kubeConfig);
 * const helper = createRuntimeHelper({ client, clusterDNS: ['10.96.0.10'], hostIPs: ['192.0.2.7'] });
 * const runtime = await createCRIRuntime({ endpoint: 'unix:///run/containerd/containerd.sock', helper });
 * const { volumeManager } = helper;
 * const agent = createNodeAgent({ nodeName: 'node-a', client, runtime, volumeManager });
 * agent.start();
 *
 * // When it is to end:
 * await agent.stop({ drain: true });
 * runtime.close();
 * await helper.close();
 * ```
 */
export function createRuntimeHelper(options: RuntimeHelperOptions): RuntimeHelper & {
  readonly volumeManager: VolumeManager;
  /**
   * Ends the watch of Services, and kills running credential providers; resolves when no request and no timer of the watch
   * is left. Idempotent.
   */
  close(): Promise<void>;
} {
  return createRuntimeHelperOn({ files: systemFiles, random: systemRandom }, options);
}

/** `createRuntimeHelper` on any machine. */
export function createRuntimeHelperOn(
  { files, random }: { readonly files: HostFiles; readonly random: () => number },
  options: RuntimeHelperOptions,
): ReturnType<typeof createRuntimeHelper> {
  const {
    client,
    rootDirectory: givenRootDirectory = '/var/lib/kubelet',
    clusterDNS = [],
    clusterDomain = 'cluster.local',
    resolvConf = '/etc/resolv.conf',
    mounts = true,
    hostIPs = [],
    allocatable = { cpu: String(availableParallelism()), memory: String(totalmem()) },
    eventRecorder,
  } = options;
  if (!givenRootDirectory.startsWith('/')) refuseOption('rootDirectory', 'an absolute path', givenRootDirectory);
  aBoolean('mounts', mounts);
  const rootDirectory = withoutLinks(files, givenRootDirectory);
  const clock = resolveClock(options.clock);
  const logger = resolveLogger(options.logger);
  const api = client && resolveTransport(client, { clock, logger });
  const transport = api?.transport;
  const services = transport && new ServiceLister({ transport, clock, random, logger });
  const closed = new AbortController();
  setMaxListeners(0, closed.signal);
  const objects = transport && new APIObjects(transport, clock, closed.signal);
  const credentialProviders = createCredentialProviders(options.credentialProviders, {
    ...{ clock, logger, signal: closed.signal },
  });
  const scopes = new PodScopes({ clock, logger });
  const volumes = new PodVolumes({
    ...{ scopes, files, rootDirectory, mounts, objects, allocatable, eventRecorder, clock, logger },
  });
  return {
    volumeManager: {
      waitForAttachAndMount: (pod, callOptions) => {
        // The pod's containers are created later, and then need not wait for the Services.
        services?.start();
        return volumes.waitForAttachAndMount(pod, callOptions);
      },
      getPodVolumeStats: (pod, callOptions) => volumes.getPodVolumeStats(pod, callOptions),
      cleanupOrphanedPodDirs: (podUIDs, callOptions) => volumes.cleanupOrphanedPodDirs(podUIDs, callOptions),
      waitForUnmount: (pod, callOptions) => volumes.waitForUnmount(pod, callOptions),
    },
    async generateRunContainerOptions(
      pod,
      container,
      podIPs,
      { supportsRecursiveReadOnly = false, imageVolumes, signal } = {},
    ) {
      try {
        const [refused] = refusedFields('EphemeralContainer', container, `container ${container.name}`);
        if (refused !== undefined)
          throw new ContainerConfigError(`${refused.path} is not supported by this agent: ${refused.because}`);
        const envs = await makeEnvironmentVariables(pod, container, {
          ...{ objects, services, podIPs, hostIPs, allocatable },
          volume: (name) => {
            const volume = volumesOf(pod).find((each) => each.name === name);
            return volume && { files, path: volumePath(rootDirectory, pod, volume) };
          },
        });
        const hostName = generatePodHostNameAndDomain(pod, clusterDomain);
        const mountsOf = (call: { readonly signal: AbortSignal }) =>
          makeMounts(pod, container, {
            ...{ files, rootDirectory, mounts, podIPs, hostName, envs, supportsRecursiveReadOnly, imageVolumes },
            ...call,
          });
        const inTurnOn = `mounts of container ${container.name}`;
        const scope = scopes.get(pod);
        return {
          ...expandContainerCommandAndArgs(container, envs),
          envs,
          mounts: await (scope?.run('makeMounts', { signal, inTurnOn }, mountsOf) ?? mountsOf(notMounted)),
        };
      } catch (cause) {
        if (cause instanceof ContainerConfigError) throw cause;
        throw new ContainerConfigError((cause as Error).message, { cause });
      }
    },
    async getPodDNS(pod) {
      // Read synchronously: for this small file, that is faster than waiting for another thread.
      const nodeDNS = resolvConf === '' ? undefined : parseResolvConf(files.readFileSync(resolvConf));
      const { warnings, ...dns } = getPodDNS(pod, { clusterDNS, clusterDomain, nodeDNS, nodeIPs: hostIPs });
      for (const { reason, message } of warnings) eventRecorder?.event({ pod, type: 'Warning', reason, message });
      return dns;
    },
    generatePodHostName: (pod) => nodenameForKernel(generatePodHostNameAndDomain(pod, clusterDomain), pod),
    lookupRuntimeHandler: async (name) => {
      if (objects === undefined) throw new Error(`failed to get RuntimeClass ${name}: no client is configured`);
      return objects.lookupRuntimeHandler(name);
    },
    pullCredentials: async (pod, image) => {
      const { credentials, missingSecrets } = await pullCredentials(pod, image, objects);
      return { credentials: [...credentials, ...(await credentialProviders.credentialsFor(image))], missingSecrets };
    },
    async close() {
      closed.abort(new Error('the runtime helper was closed'));
      scopes.stop();
      await services?.close();
      await api?.close();
    },
  };
}
