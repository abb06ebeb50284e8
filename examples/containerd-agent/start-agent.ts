import { join, resolve } from 'node:path';
import type { Logger } from 'kubelet-status-manager';
import {
  APIEventRecorder,
  createEventClient,
  createNodeAgent,
  createRuntimeHelper,
  fileSource,
  type NodeAgentNode,
  openAgentState,
  serveAgent,
} from 'kubelet-status-manager/agent';
import { createCRIRuntime } from 'kubelet-status-manager/cri';
import { createPodClient, type HTTPPodClient } from 'kubelet-status-manager/http';
import { type KubeletAPIOptions, serveKubeletAPI } from 'kubelet-status-manager/kubelet-api';
import { createPrometheusMetrics } from 'kubelet-status-manager/prometheus';
import { Registry } from 'prom-client';
import { parse } from 'yaml';
import { AgentError } from '../node-agent/agent-error.ts';
import type { CleanUps } from '../node-agent/clean-ups.ts';
import { makeDirectories } from '../node-agent/make-directories.ts';
import { readKubeconfig } from '../node-agent/read-kubeconfig.ts';
import { rotateClientCertificate, writeNodeKubeconfig } from './client-certificate.ts';
import { allocatable, defaultNodeIP, machineCapacity, machineInfo } from './machine.ts';
import type { ContainerdAgentOptions } from './options.ts';
import { readCredentialProviders } from './read-credential-providers.ts';

export interface AgentSurroundings {
  readonly logger: Logger;
  /** Receives what stops the agent and its servers again, also if the start fails halfway. */
  readonly cleanUps: CleanUps;
}

/**
 * Starts the agent and returns when it runs; the API server need not respond yet.
 * @returns `failed` resolves if the agent stops itself
 * @throws AgentError
 */
export async function startAgent(
  options: ContainerdAgentOptions,
  { logger, cleanUps }: AgentSurroundings,
): Promise<{ readonly failed: Promise<Error> }> {
  const { hostnameOverride: nodeName, podManifestPath, cgroupRoot, healthzPort } = options;
  const rootDirectory = resolve(options.rootDir);
  const podLogsDirectory = resolve(options.podLogsDir);
  const nodeIP = await defaultNodeIP();
  const addresses = options.nodeIp ?? (nodeIP === undefined ? [] : [nodeIP]);
  const logsFolderMade = Promise.resolve(podLogsDirectory).then(makeDirectories);
  await inStep(`--pod-logs-dir ${podLogsDirectory}`, logsFolderMade);
  // Fails if another agent uses the directory.
  const state = await inStep(`--root-dir ${rootDirectory}`, openAgentState(rootDirectory, { logger }));
  const capacity = await machineCapacity(rootDirectory, options.maxPods);
  const forPods = allocatable(capacity, options.evictionHard);

  const client = await openClient(options, { logger, cleanUps });
  const eventRecorder =
    client &&
    new APIEventRecorder({
      ...{ client: createEventClient(client.transport), nodeName, logger },
      // The status of a pod that starts is written first.
      delayMs: 500,
    });
  if (eventRecorder) cleanUps.add('events', () => eventRecorder.stop());

  const credentialProviders = await inStep('--image-credential-provider-config', readCredentialProviders(options));
  const helper = createRuntimeHelper({
    credentialProviders,
    client,
    rootDirectory,
    clusterDNS: options.clusterDns,
    clusterDomain: options.clusterDomain,
    resolvConf: options.resolvConf,
    hostIPs: addresses,
    allocatable: forPods,
    eventRecorder,
    logger,
  });
  cleanUps.add('runtime helper', () => helper.close());
  const runtime = await inStep(
    '--container-runtime-endpoint',
    createCRIRuntime({
      endpoint: options.containerRuntimeEndpoint,
      helper,
      rootDirectory,
      podLogsDirectory,
      seccompDefault: options.seccompDefault,
      containerLogMaxSizeBytes: options.containerLogMaxSize,
      containerLogMaxFiles: options.containerLogMaxFiles,
      cgroupRoot: cgroupRoot || undefined,
      podPidsLimit: options.podMaxPids === -1 ? undefined : options.podMaxPids,
      logger,
    }),
  );
  cleanUps.add('runtime', () => runtime.close());

  const info = await machineInfo();
  const node: NodeAgentNode = {
    addresses,
    labels: options.nodeLabels,
    taints: options.registerWithTaints,
    nodeStatus: async () => {
      const { nodeInfo, ...status } = await runtime.nodeStatus();
      return { ...status, capacity, allocatable: forPods, nodeInfo: { ...info, ...nodeInfo } };
    },
  };
  const register = new Registry();
  const metrics = createPrometheusMetrics({ register });
  const agent = createNodeAgent({
    nodeName,
    client,
    runtime,
    volumeManager: helper.volumeManager,
    // A status is patched without reading the pod before, unless others may have changed it.
    statusManager: { readBeforePatch: 'when-stale' },
    sources:
      podManifestPath === undefined
        ? []
        : [fileSource({ path: podManifestPath, parse: (text) => parse(text) as unknown })],
    node: options.registerNode && node,
    imagePulls: {
      serializeImagePulls: options.serializeImagePulls,
      imagePullCredentialsVerificationPolicy: options.imagePullCredentialsVerificationPolicy,
      preloadedImagesVerificationAllowlist: options.preloadedImagesVerificationAllowlist,
    },
    imageGC: {
      highThresholdPercent: options.imageGcHighThreshold,
      lowThresholdPercent: options.imageGcLowThreshold,
    },
    eviction: {
      hard: options.evictionHard,
      soft: options.evictionSoft,
      softGracePeriodMs: options.evictionSoftGracePeriod,
      maxPodGracePeriodSeconds: options.evictionMaxPodGracePeriod,
      minimumReclaim: options.evictionMinimumReclaim,
      pressureTransitionPeriodMs: options.evictionPressureTransitionPeriod,
      rootDirectory,
    },
    allowedUnsafeSysctls: options.allowedUnsafeSysctls,
    eventRecorder,
    ...state,
    metrics,
    logger,
  });

  // Without a cluster, nobody can say who may use it.
  if (options.port !== 0 && (client !== undefined || options.authorizationMode === 'AlwaysAllow')) {
    const server = await inStep(
      '--port',
      serveKubeletAPI(agent, kubeletAPIOptions(options, { runtime, register, metrics, logger })),
    );
    cleanUps.add('kubelet API', () => server.close());
  }
  if (healthzPort !== 0) {
    const server = await inStep(
      '--healthz-port',
      serveAgent(agent, { host: options.healthzBindAddress, port: healthzPort, register, logger }),
    );
    cleanUps.add('health and metrics', () => server.close());
  }
  cleanUps.add('agent', () => agent.stop({ drain: true }));
  agent.start();
  void agent.whenReady().then(
    () => logger.info({ node: nodeName }, 'The node is ready for pods'),
    () => {},
  );
  return { failed: agent.whenFailed() };
}

function kubeletAPIOptions(
  options: ContainerdAgentOptions,
  { runtime, register, metrics, logger }: Pick<KubeletAPIOptions, 'runtime' | 'register' | 'metrics' | 'logger'>,
): KubeletAPIOptions {
  const { address, port, tlsCertFile, tlsPrivateKeyFile, clientCaFile, anonymousAuth, kubeconfig } = options;
  const { authenticationTokenWebhook, authorizationMode } = options;
  return {
    ...{
      runtime,
      register,
      metrics,
      logger,
      host: address,
      port,
      tlsCertFile,
      tlsPrivateKeyFile,
      certDirectory: certDirectory(options),
    },
    tlsCipherSuites: options.tlsCipherSuites,
    tlsMinVersion: options.tlsMinVersion,
    serverTLSBootstrap: options.rotateServerCertificates,
    authentication: {
      anonymous: anonymousAuth,
      webhook: authenticationTokenWebhook && kubeconfig !== undefined,
      clientCAFile: clientCaFile,
    },
    authorization: { mode: authorizationMode },
    kubeletConfiguration: {
      ...{ maxPods: options.maxPods, clusterDNS: options.clusterDns, clusterDomain: options.clusterDomain },
      seccompDefault: options.seccompDefault,
      ...{ staticPodPath: options.podManifestPath, cgroupRoot: options.cgroupRoot },
      containerRuntimeEndpoint: options.containerRuntimeEndpoint,
    },
  };
}

async function openClient(
  options: ContainerdAgentOptions,
  { logger, cleanUps }: AgentSurroundings,
): Promise<HTTPPodClient | undefined> {
  const { kubeconfig, bootstrapKubeconfig, hostnameOverride: nodeName } = options;
  const { rotateCertificates = bootstrapKubeconfig !== undefined } = options;
  if (kubeconfig === undefined) {
    if (!rotateCertificates) return undefined;
    throw new AgentError('--bootstrap-kubeconfig and --rotate-certificates need --kubeconfig');
  }
  const certificate = { nodeName, kubeconfig, bootstrapKubeconfig, certDirectory: certDirectory(options) };
  await writeNodeKubeconfig(certificate);
  const { kubeConfig, kubeConfigDir } = await readKubeconfig(kubeconfig);
  const client = createPodClient(kubeConfig, { kubeConfigDir, logger });
  cleanUps.add('connections', () => client.transport.close());
  if (rotateCertificates) await rotateClientCertificate(certificate, client, { logger, cleanUps });
  return client;
}

function certDirectory({ certDir, rootDir }: ContainerdAgentOptions): string {
  return resolve(certDir ?? join(rootDir, 'pki'));
}

/** Names the option that an error belongs to. */
async function inStep<T>(step: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw AgentError.from(error, step);
  }
}
