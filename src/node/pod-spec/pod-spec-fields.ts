import type { KubeFieldName, KubeType } from '../../kube/objects/kube-object.ts';

/*
 * What the agent does with each field of a pod's spec. The names come from the Go structs of Kubernetes' API: a field or a
 * struct of a newer release does not compile, or fails its test, until it has a row here. docs/internals/pod-spec.md is
 * generated from these tables.
 *
 * Fields of later releases are ignored: the kubelet also drops unknown fields when it decodes a pod. A volume without a
 * known source does not mount.
 *
 * Divergence: alpha fields that set the owner or the mode of files in a volume are refused; the kubelet ignores them while
 * their feature gates are off. Only static pods can have them, because the API server then drops them.
 */

/** When a pod with the field is refused: the reason of its Event or status. No container of it starts. */
export type RefusedAt =
  | 'PodFeatureUnsupported'
  | 'FailedMount'
  | 'FailedPrepareDynamicResources'
  | 'CreateContainerConfigError';

export type FieldRow =
  /** The files or folders below `src` that implement the field. `note` says how, if they do so only in part. */
  | { readonly honoured: string; readonly note?: string }
  /** Why the node does nothing. */
  | { readonly ignored: string }
  /** Refused when the field is set, or has one of these values. */
  | { readonly refused: RefusedAt; readonly because: string };

type Rows<Struct extends KubeType> = { readonly [Field in KubeFieldName<Struct>]: FieldRow };
type Tables = { readonly [Struct in KubeType]?: Rows<Struct> };

type WordsOf<Text> = Text extends `${infer Word} ${infer Rest}` ? Word | WordsOf<Rest> : Text;

/** The same row for each of these fields. */
export function each<Row, const Names extends string>(
  row: Row,
  names: Names,
): { readonly [Name in WordsOf<Names>]: Row } {
  return Object.fromEntries(names.split(' ').map((name) => [name, row])) as { [Name in WordsOf<Names>]: Row };
}

const at = (honoured: string, note?: string): FieldRow => ({ honoured, ...(note !== undefined && { note }) });
const byScheduler: FieldRow = { ignored: 'for the scheduler' };
const byControlPlane: FieldRow = { ignored: 'for the API server and controllers' };
const windows: FieldRow = { ignored: 'for nodes with Windows; `os: windows` is refused' };
const behindGate = (gate: string): FieldRow => ({
  ignored: `as in the kubelet without the alpha feature gate ${gate}`,
});
const plugin: FieldRow = { refused: 'FailedMount', because: 'its volume plugin is not included' };
const owner: FieldRow = {
  refused: 'FailedMount',
  because: 'needs the alpha feature gate AtomicWriteVolumeUserFields',
};

const affinity = at('node/admission/general-predicates');
const environment = at('node/container-options/make-environment');
const security = at('cri/security-context');
const payload = at('node/volumes/volume-payload');
const mounts = at('agent/volumes/container-mounts');
const probe = at('node/prober');
const restart = at('status-manager/status/container-restart');
const config = at('cri/container-config');

const container = {
  name: at('node/pod-workers'),
  ...each(at('agent/pod-syncer/image-manager'), 'image imagePullPolicy'),
  ...each(at('node/container-options/expand-references'), 'command args'),
  ...each(config, 'workingDir stdin stdinOnce tty'),
  ports: at('cri/sandbox-config', 'ports without `hostPort` need nothing'),
  ...each(environment, 'envFrom env'),
  resources: at('cri/linux-resources'),
  resizePolicy: at('agent/actions/pod-resize-action'),
  ...each(restart, 'restartPolicy restartPolicyRules'),
  volumeMounts: mounts,
  volumeDevices: { refused: 'CreateContainerConfigError', because: 'block volumes need persistent volumes' },
  ...each(probe, 'livenessProbe readinessProbe startupProbe'),
  lifecycle: at('agent/pod-syncer/handler-runner'),
  terminationMessagePath: at('cri/prepared-container-files'),
  terminationMessagePolicy: at('cri/labels', 'kept as an annotation of the container, and read when it ends'),
  securityContext: security,
} as const satisfies Rows<'Container'>;

export const podSpecFields = {
  PodSpec: {
    volumes: at('agent/volumes'),
    initContainers: at('agent/actions/init-container-actions'),
    ...each(at('agent/actions/compute-pod-actions'), 'containers ephemeralContainers'),
    restartPolicy: restart,
    terminationGracePeriodSeconds: at('node/pod-workers/pod-sync-status'),
    activeDeadlineSeconds: at('node/pod-workers/active-deadline'),
    ...each(at('agent/container-options/pod-dns'), 'dnsPolicy dnsConfig'),
    ...each(affinity, 'nodeSelector affinity'),
    serviceAccountName: at('node/container-options/token-manager'),
    serviceAccount: { ignored: 'the old name of `serviceAccountName`, which the API server sets, too' },
    automountServiceAccountToken: { ignored: 'for the API server, which adds the volume of the token' },
    nodeName: at('node/admission/general-predicates'),
    ...each(security, 'hostNetwork hostPID hostIPC shareProcessNamespace securityContext'),
    imagePullSecrets: at('node/container-options/pull-credentials'),
    ...each(at('agent/container-options/pod-host-name'), 'hostname subdomain setHostnameAsFQDN hostnameOverride'),
    ...each(byScheduler, 'schedulerName preemptionPolicy topologySpreadConstraints schedulingGates schedulingGroup'),
    tolerations: at('node/registration/tolerates-taints', 'of taints with the effect NoExecute'),
    hostAliases: at('agent/container-options/hosts-file'),
    priorityClassName: at('cri/linux-resources', 'the OOM score of critical pods'),
    priority: at('agent/eviction/rank-pods'),
    readinessGates: at('status-manager/status/generate-conditions'),
    runtimeClassName: at('cri/cri-runtime'),
    enableServiceLinks: at('node/container-options/service-environment'),
    overhead: at('status-manager/status/pod-resources'),
    os: at('node/admission/predicate-admit-handler'),
    hostUsers: at('cri/cri-runtime', '`false` is refused with FailedCreatePodSandBox where the runtime cannot'),
    resourceClaims: { refused: 'FailedPrepareDynamicResources', because: 'there are no DRA drivers' },
    resources: at('cri/linux-resources'),
    evictionResponders: byControlPlane,
  },
  Container: container,
  EphemeralContainer: { ...container, targetContainerName: at('agent/pod-syncer/container-starter') },
  ContainerPort: {
    name: at('node/prober/container-port'),
    ...each(at('cri/sandbox-config'), 'hostPort containerPort protocol hostIP'),
  },
  ResourceRequirements: {
    limits: at('cri/linux-resources', 'extended resources count at admission; there are no device plugins'),
    requests: at('node/admission/fits-resources'),
    claims: { refused: 'FailedPrepareDynamicResources', because: 'there are no DRA drivers' },
  },
  ContainerResizePolicy: each(at('agent/actions/pod-resize-action'), 'resourceName restartPolicy'),
  ContainerRestartRule: each(restart, 'action exitCodes'),
  ContainerRestartRuleOnExitCodes: each(restart, 'operator values'),
  EnvFromSource: each(environment, 'prefix configMapRef secretRef'),
  ConfigMapEnvSource: each(environment, 'name optional'),
  SecretEnvSource: each(environment, 'name optional'),
  EnvVar: each(environment, 'name value valueFrom'),
  EnvVarSource: each(environment, 'fieldRef resourceFieldRef configMapKeyRef secretKeyRef fileKeyRef'),
  ObjectFieldSelector: {
    apiVersion: { ignored: '`v1` is the only version' },
    fieldPath: at('node/container-options/field-value'),
  },
  ResourceFieldSelector: each(at('node/container-options/resource-field-value'), 'containerName resource divisor'),
  ConfigMapKeySelector: each(environment, 'name key optional'),
  SecretKeySelector: each(environment, 'name key optional'),
  FileKeySelector: each(environment, 'volumeName path key optional'),
  VolumeMount: {
    ...each(mounts, 'name readOnly mountPath subPath mountPropagation subPathExpr'),
    recursiveReadOnly: at(
      'agent/volumes/container-mounts',
      'refused with CreateContainerConfigError where the runtime cannot',
    ),
    bindMountOptions: { refused: 'PodFeatureUnsupported', because: 'VolumeBindMountOptions' },
  },
  Probe: {
    ...each(
      probe,
      'exec httpGet tcpSocket grpc initialDelaySeconds timeoutSeconds periodSeconds successThreshold failureThreshold',
    ),
    terminationGracePeriodSeconds: at('agent/pod-syncer/kill-pod'),
  },
  Lifecycle: {
    postStart: at('agent/pod-syncer/container-starter'),
    preStop: at('agent/pod-syncer/kill-pod'),
    stopSignal: at('cri/container-config', 'also without the alpha feature gate ContainerStopSignals'),
  },
  LifecycleHandler: {
    ...each(at('agent/pod-syncer/handler-runner'), 'exec httpGet sleep'),
    tcpSocket: { ignored: 'as in the kubelet, which has no such hook' },
  },
  ExecAction: { command: probe },
  HTTPGetAction: {
    ...each(at('node/prober/http-probe-request'), 'path port host scheme httpHeaders'),
    protocol: behindGate('H2CContainerProbe'),
  },
  HTTPHeader: each(at('node/prober/http-probe-request'), 'name value'),
  TCPSocketAction: each(at('node/prober/probe-handlers'), 'port host'),
  GRPCAction: { ...each(at('node/prober/probe-handlers'), 'port service'), mode: behindGate('GRPCContainerProbeTLS') },
  SleepAction: { seconds: at('agent/pod-syncer/handler-runner') },
  PodSecurityContext: {
    ...each(security, 'seLinuxOptions runAsUser runAsGroup runAsNonRoot supplementalGroups seccompProfile'),
    windowsOptions: windows,
    supplementalGroupsPolicy: at('node/admission/predicate-admit-handler'),
    fsGroup: at('node/volumes/volume-sources'),
    sysctls: at('agent/admission/sysctl-allowlist'),
    fsGroupChangePolicy: { ignored: 'only persistent volumes have files when they are set up' },
    appArmorProfile: at('node/admission/app-armor'),
    seLinuxChangePolicy: { ignored: 'only persistent volumes could be mounted with a label' },
  },
  SecurityContext: {
    ...each(
      security,
      'capabilities privileged seLinuxOptions runAsUser runAsGroup runAsNonRoot readOnlyRootFilesystem allowPrivilegeEscalation procMount seccompProfile',
    ),
    windowsOptions: windows,
    appArmorProfile: at('node/admission/app-armor'),
  },
  Capabilities: each(security, 'add drop'),
  SELinuxOptions: each(security, 'user role type level'),
  SeccompProfile: each(security, 'type localhostProfile'),
  AppArmorProfile: each(at('node/admission/app-armor'), 'type localhostProfile'),
  Sysctl: each(at('cri/sandbox-config'), 'name value'),
  HostAlias: each(at('agent/container-options/hosts-file'), 'ip hostnames'),
  PodDNSConfig: each(at('agent/container-options/pod-dns'), 'nameservers searches options'),
  PodDNSConfigOption: each(at('agent/container-options/pod-dns'), 'name value'),
  LocalObjectReference: { name: at('node/container-options/pull-credentials') },
  PodReadinessGate: { conditionType: at('status-manager/status/generate-conditions') },
  PodOS: { name: at('node/admission/predicate-admit-handler') },
  Toleration: {
    ...each(at('node/registration/tolerates-taints'), 'key operator value effect'),
    tolerationSeconds: byControlPlane,
  },
  Affinity: { nodeAffinity: affinity, ...each(byScheduler, 'podAffinity podAntiAffinity') },
  NodeAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: affinity,
    preferredDuringSchedulingIgnoredDuringExecution: byScheduler,
  },
  NodeSelector: { nodeSelectorTerms: affinity },
  NodeSelectorTerm: each(affinity, 'matchExpressions matchFields'),
  NodeSelectorRequirement: each(affinity, 'key operator values'),
  Volume: {
    name: at('node/volumes/volume-sources'),
    hostPath: at('node/host-paths/host-path-type'),
    emptyDir: at('agent/volumes/pod-volumes'),
    ...each(
      plugin,
      'gcePersistentDisk awsElasticBlockStore nfs iscsi glusterfs persistentVolumeClaim rbd flexVolume cinder cephfs flocker fc azureFile vsphereVolume quobyte azureDisk photonPersistentDisk portworxVolume scaleIO storageos csi ephemeral',
    ),
    gitRepo: { refused: 'FailedMount', because: 'the kubelet has its plugin off, too' },
    ...each(payload, 'secret downwardAPI configMap projected'),
    image: at('agent/volumes/container-mounts', 'with a runtime that pulls and mounts images'),
  },
  ImageVolumeSource: each(at('agent/pod-syncer/runtime-manager'), 'reference pullPolicy'),
  HostPathVolumeSource: { path: at('node/volumes/volume-sources'), type: at('node/host-paths/host-path-type') },
  EmptyDirVolumeSource: {
    medium: at('agent/volumes/pod-volumes'),
    sizeLimit: at('agent/eviction/local-storage-eviction'),
    mode: { refused: 'FailedMount', because: 'needs the alpha feature gate EmptyDirVolumeMode' },
  },
  SecretVolumeSource: { ...each(payload, 'secretName items defaultMode optional'), defaultUser: owner },
  ConfigMapVolumeSource: { ...each(payload, 'name items defaultMode optional'), defaultUser: owner },
  DownwardAPIVolumeSource: { ...each(payload, 'items defaultMode'), defaultUser: owner },
  DownwardAPIVolumeFile: { ...each(payload, 'path fieldRef resourceFieldRef mode'), user: owner },
  KeyToPath: { ...each(payload, 'key path mode'), user: owner },
  ProjectedVolumeSource: { ...each(payload, 'sources defaultMode'), defaultUser: owner },
  VolumeProjection: {
    ...each(payload, 'secret downwardAPI configMap serviceAccountToken'),
    clusterTrustBundle: { refused: 'FailedMount', because: 'ClusterTrustBundles are not read' },
    podCertificate: { refused: 'FailedMount', because: 'certificates are not requested for pods' },
  },
  SecretProjection: each(payload, 'name items optional'),
  ConfigMapProjection: each(payload, 'name items optional'),
  DownwardAPIProjection: { items: payload },
  ServiceAccountTokenProjection: {
    ...each(at('node/container-options/token-manager'), 'audience expirationSeconds'),
    path: payload,
    user: owner,
  },
} as const satisfies Tables;

/** A struct of the API that a pod's spec is made of. */
export type PodSpecStruct = keyof typeof podSpecFields;
