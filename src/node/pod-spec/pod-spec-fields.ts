import type { kubeTypes } from '../../kube/objects/kube-types.ts';

/*
 * What the agent does with each field of a pod's spec. The names come from the Go structs of Kubernetes' API: a field or a
 * struct of a newer release does not compile, or fails its test, until it has a row here. docs/internals/pod-spec.md
 * is generated from these tables.
 *
 * Fields that no release knew when this was built are ignored, as in the kubelet, which drops them when it decodes a pod;
 * a volume without a source that is known does not mount.
 *
 * Divergence: alpha fields that set the owner or the mode of files in a volume are refused; the kubelet ignores them
 * while their feature gates are off. Only static pods can have them: such an API server drops them.
 */

/** When a pod with the field is refused: the reason of its Event or status. No container of it starts. */
export type RefusedAt =
  | 'PodFeatureUnsupported'
  | 'FailedMount'
  | 'FailedPrepareDynamicResources'
  | 'CreateContainerConfigError';

export type FieldRow =
  /** The files or folders below `src` that do what the field says, and how, where it is not everything. */
  | { readonly honoured: string; readonly note?: string }
  /** Why the node need not do anything. */
  | { readonly ignored: string }
  /** Refused when the field is set, or has one of these values. */
  | { readonly refused: RefusedAt; readonly because: string };

type StructName = keyof typeof kubeTypes;
/** `name` of `name? []Type`. */
type NameOf<Field> = Field extends `${infer Name} ${string}` ? (Name extends `${infer Bare}?` ? Bare : Name) : never;
/** The names of `name string; ports? []ContainerPort`. */
type FieldNames<Text, Names = never> = Text extends `${infer Field}; ${infer Rest}`
  ? FieldNames<Rest, Names | NameOf<Field>>
  : Names | NameOf<Text>;
type Rows<Struct extends StructName> = { readonly [Field in FieldNames<(typeof kubeTypes)[Struct]>]: FieldRow };
type Tables = { readonly [Struct in StructName]?: Rows<Struct> };

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

const affinity = at('node/admission/node-affinity');
const environment = at('node/container-options/environment');
const security = at('cri/security-context');
const payload = at('node/volumes/volume-payload');
const mounts = at('agent/volumes/container-mounts');
const probe = at('agent/prober');
const restart = at('status-manager/status/container-restart');
const config = at('cri/container-config');

const container = {
  name: at('node/pod-workers'),
  image: at('agent/pod-syncer/image-manager'),
  command: at('node/container-options/expand-references'),
  args: at('node/container-options/expand-references'),
  workingDir: config,
  ports: at('cri/sandbox-config', 'ports without `hostPort` need nothing'),
  envFrom: environment,
  env: environment,
  resources: at('cri/linux-resources'),
  resizePolicy: at('agent/actions/pod-resize-action'),
  restartPolicy: restart,
  restartPolicyRules: restart,
  volumeMounts: mounts,
  volumeDevices: { refused: 'CreateContainerConfigError', because: 'block volumes need persistent volumes' },
  livenessProbe: probe,
  readinessProbe: probe,
  startupProbe: probe,
  lifecycle: at('agent/pod-syncer/handler-runner'),
  terminationMessagePath: at('cri/container-files'),
  terminationMessagePolicy: at('cri/labels', 'kept as an annotation of the container, and read when it ends'),
  imagePullPolicy: at('agent/pod-syncer/image-manager'),
  securityContext: security,
  stdin: config,
  stdinOnce: config,
  tty: config,
} as const satisfies Rows<'Container'>;

export const podSpecFields = {
  PodSpec: {
    volumes: at('agent/volumes'),
    initContainers: at('agent/actions/init-container-actions'),
    containers: at('agent/actions/compute-pod-actions'),
    ephemeralContainers: at('agent/actions/compute-pod-actions'),
    restartPolicy: restart,
    terminationGracePeriodSeconds: at('node/pod-workers/pod-sync-status'),
    activeDeadlineSeconds: at('node/pod-workers/active-deadline'),
    dnsPolicy: at('agent/container-options/pod-dns'),
    nodeSelector: affinity,
    serviceAccountName: at('node/container-options/service-account-tokens'),
    serviceAccount: { ignored: 'the old name of `serviceAccountName`, which the API server sets, too' },
    automountServiceAccountToken: { ignored: 'for the API server, which adds the volume of the token' },
    nodeName: at('node/admission/general-predicates'),
    hostNetwork: security,
    hostPID: security,
    hostIPC: security,
    shareProcessNamespace: security,
    securityContext: security,
    imagePullSecrets: at('node/container-options/pull-credentials'),
    hostname: at('agent/container-options/pod-host-name'),
    subdomain: at('agent/container-options/pod-host-name'),
    affinity,
    schedulerName: byScheduler,
    tolerations: at('node/registration/tolerates-taints', 'of taints with the effect NoExecute'),
    hostAliases: at('agent/container-options/hosts-file'),
    priorityClassName: at('cri/linux-resources', 'the OOM score of critical pods'),
    priority: at('agent/eviction/rank-pods'),
    dnsConfig: at('agent/container-options/pod-dns'),
    readinessGates: at('status-manager/status/generate-conditions'),
    runtimeClassName: at('cri/cri-runtime'),
    enableServiceLinks: at('node/container-options/service-environment'),
    preemptionPolicy: byScheduler,
    overhead: at('status-manager/status/pod-resources'),
    topologySpreadConstraints: byScheduler,
    setHostnameAsFQDN: at('agent/container-options/pod-host-name'),
    os: at('node/admission/predicate-admit-handler'),
    hostUsers: at('cri/cri-runtime', '`false` is refused with FailedCreatePodSandBox where the runtime cannot'),
    schedulingGates: byScheduler,
    resourceClaims: { refused: 'FailedPrepareDynamicResources', because: 'there are no DRA drivers' },
    resources: at('cri/linux-resources'),
    hostnameOverride: at('agent/container-options/pod-host-name'),
    schedulingGroup: byScheduler,
    evictionResponders: byControlPlane,
  },
  Container: container,
  EphemeralContainer: { ...container, targetContainerName: at('agent/pod-syncer/container-starter') },

  ContainerPort: {
    name: at('agent/prober/container-port'),
    hostPort: at('cri/sandbox-config'),
    containerPort: at('cri/sandbox-config'),
    protocol: at('cri/sandbox-config'),
    hostIP: at('cri/sandbox-config'),
  },
  ResourceRequirements: {
    limits: at('cri/linux-resources', 'extended resources count at admission; there are no device plugins'),
    requests: at('node/admission/fits-resources'),
    claims: { refused: 'FailedPrepareDynamicResources', because: 'there are no DRA drivers' },
  },
  ContainerResizePolicy: {
    resourceName: at('agent/actions/pod-resize-action'),
    restartPolicy: at('agent/actions/pod-resize-action'),
  },
  ContainerRestartRule: { action: restart, exitCodes: restart },
  ContainerRestartRuleOnExitCodes: { operator: restart, values: restart },

  EnvFromSource: { prefix: environment, configMapRef: environment, secretRef: environment },
  ConfigMapEnvSource: { name: environment, optional: environment },
  SecretEnvSource: { name: environment, optional: environment },
  EnvVar: { name: environment, value: environment, valueFrom: environment },
  EnvVarSource: {
    fieldRef: environment,
    resourceFieldRef: environment,
    configMapKeyRef: environment,
    secretKeyRef: environment,
    fileKeyRef: environment,
  },
  ObjectFieldSelector: {
    apiVersion: { ignored: '`v1` is the only version' },
    fieldPath: at('node/container-options/field-value'),
  },
  ResourceFieldSelector: {
    containerName: at('node/container-options/resource-field-value'),
    resource: at('node/container-options/resource-field-value'),
    divisor: at('node/container-options/resource-field-value'),
  },
  ConfigMapKeySelector: { name: environment, key: environment, optional: environment },
  SecretKeySelector: { name: environment, key: environment, optional: environment },
  FileKeySelector: { volumeName: environment, path: environment, key: environment, optional: environment },

  VolumeMount: {
    name: mounts,
    readOnly: mounts,
    recursiveReadOnly: at(
      'agent/volumes/container-mounts',
      'refused with CreateContainerConfigError where the runtime cannot',
    ),
    mountPath: mounts,
    subPath: mounts,
    mountPropagation: mounts,
    subPathExpr: mounts,
    bindMountOptions: { refused: 'PodFeatureUnsupported', because: 'VolumeBindMountOptions' },
  },

  Probe: {
    exec: probe,
    httpGet: probe,
    tcpSocket: probe,
    grpc: probe,
    initialDelaySeconds: probe,
    timeoutSeconds: probe,
    periodSeconds: probe,
    successThreshold: probe,
    failureThreshold: probe,
    terminationGracePeriodSeconds: at('agent/pod-syncer/kill-pod'),
  },
  Lifecycle: {
    postStart: at('agent/pod-syncer/container-starter'),
    preStop: at('agent/pod-syncer/kill-pod'),
    stopSignal: at('cri/container-config', 'also without the alpha feature gate ContainerStopSignals'),
  },
  LifecycleHandler: {
    exec: at('agent/pod-syncer/handler-runner'),
    httpGet: at('agent/pod-syncer/handler-runner'),
    tcpSocket: { ignored: 'as in the kubelet, which has no such hook' },
    sleep: at('agent/pod-syncer/handler-runner'),
  },
  ExecAction: { command: probe },
  HTTPGetAction: {
    path: at('agent/prober/http-probe-request'),
    port: at('agent/prober/http-probe-request'),
    host: at('agent/prober/http-probe-request'),
    scheme: at('agent/prober/http-probe-request'),
    httpHeaders: at('agent/prober/http-probe-request'),
    protocol: behindGate('H2CContainerProbe'),
  },
  HTTPHeader: { name: at('agent/prober/http-probe-request'), value: at('agent/prober/http-probe-request') },
  TCPSocketAction: { port: at('agent/prober/probe-handlers'), host: at('agent/prober/probe-handlers') },
  GRPCAction: {
    port: at('agent/prober/probe-handlers'),
    service: at('agent/prober/probe-handlers'),
    mode: behindGate('GRPCContainerProbeTLS'),
  },
  SleepAction: { seconds: at('agent/pod-syncer/handler-runner') },

  PodSecurityContext: {
    seLinuxOptions: security,
    windowsOptions: windows,
    runAsUser: security,
    runAsGroup: security,
    runAsNonRoot: security,
    supplementalGroups: security,
    supplementalGroupsPolicy: at('node/admission/predicate-admit-handler'),
    fsGroup: at('node/volumes/volume-sources'),
    sysctls: at('agent/admission/sysctl-allowlist'),
    fsGroupChangePolicy: { ignored: 'only persistent volumes have files when they are set up' },
    seccompProfile: security,
    appArmorProfile: at('node/admission/app-armor'),
    seLinuxChangePolicy: { ignored: 'only persistent volumes could be mounted with a label' },
  },
  SecurityContext: {
    capabilities: security,
    privileged: security,
    seLinuxOptions: security,
    windowsOptions: windows,
    runAsUser: security,
    runAsGroup: security,
    runAsNonRoot: security,
    readOnlyRootFilesystem: security,
    allowPrivilegeEscalation: security,
    procMount: security,
    seccompProfile: security,
    appArmorProfile: at('node/admission/app-armor'),
  },
  Capabilities: { add: security, drop: security },
  SELinuxOptions: {
    user: at('cri/pod-spec'),
    role: at('cri/pod-spec'),
    type: at('cri/pod-spec'),
    level: at('cri/pod-spec'),
  },
  SeccompProfile: { type: security, localhostProfile: security },
  AppArmorProfile: { type: at('node/admission/app-armor'), localhostProfile: at('node/admission/app-armor') },
  Sysctl: { name: at('cri/sandbox-config'), value: at('cri/sandbox-config') },

  HostAlias: { ip: at('agent/container-options/hosts-file'), hostnames: at('agent/container-options/hosts-file') },
  PodDNSConfig: {
    nameservers: at('agent/container-options/pod-dns'),
    searches: at('agent/container-options/pod-dns'),
    options: at('agent/container-options/pod-dns'),
  },
  PodDNSConfigOption: { name: at('agent/container-options/pod-dns'), value: at('agent/container-options/pod-dns') },
  LocalObjectReference: { name: at('node/container-options/pull-credentials') },
  PodReadinessGate: { conditionType: at('status-manager/status/generate-conditions') },
  PodOS: { name: at('node/admission/predicate-admit-handler') },
  Toleration: {
    key: at('node/registration/tolerates-taints'),
    operator: at('node/registration/tolerates-taints'),
    value: at('node/registration/tolerates-taints'),
    effect: at('node/registration/tolerates-taints'),
    tolerationSeconds: byControlPlane,
  },
  Affinity: { nodeAffinity: affinity, podAffinity: byScheduler, podAntiAffinity: byScheduler },
  NodeAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: affinity,
    preferredDuringSchedulingIgnoredDuringExecution: byScheduler,
  },
  NodeSelector: { nodeSelectorTerms: affinity },
  NodeSelectorTerm: { matchExpressions: affinity, matchFields: affinity },
  NodeSelectorRequirement: { key: affinity, operator: affinity, values: affinity },

  Volume: {
    name: at('node/volumes/volume-sources'),
    hostPath: at('node/host-paths/host-path-type'),
    emptyDir: at('agent/volumes/pod-volumes'),
    gcePersistentDisk: plugin,
    awsElasticBlockStore: plugin,
    gitRepo: { refused: 'FailedMount', because: 'the kubelet has its plugin off, too' },
    secret: payload,
    nfs: plugin,
    iscsi: plugin,
    glusterfs: plugin,
    persistentVolumeClaim: plugin,
    rbd: plugin,
    flexVolume: plugin,
    cinder: plugin,
    cephfs: plugin,
    flocker: plugin,
    downwardAPI: payload,
    fc: plugin,
    azureFile: plugin,
    configMap: payload,
    vsphereVolume: plugin,
    quobyte: plugin,
    azureDisk: plugin,
    photonPersistentDisk: plugin,
    projected: payload,
    portworxVolume: plugin,
    scaleIO: plugin,
    storageos: plugin,
    csi: plugin,
    ephemeral: plugin,
    image: at('agent/volumes/container-mounts', 'with a runtime that pulls and mounts images'),
  },
  ImageVolumeSource: {
    reference: at('agent/pod-syncer/runtime-manager'),
    pullPolicy: at('agent/pod-syncer/runtime-manager'),
  },
  HostPathVolumeSource: { path: at('node/volumes/volume-sources'), type: at('node/host-paths/host-path-type') },
  EmptyDirVolumeSource: {
    medium: at('agent/volumes/pod-volumes'),
    sizeLimit: at('agent/eviction/local-storage-eviction'),
    mode: {
      refused: 'FailedMount',
      because: 'needs the alpha feature gate EmptyDirVolumeMode',
    },
  },
  SecretVolumeSource: {
    secretName: payload,
    items: payload,
    defaultMode: payload,
    optional: payload,
    defaultUser: owner,
  },
  ConfigMapVolumeSource: { name: payload, items: payload, defaultMode: payload, optional: payload, defaultUser: owner },
  DownwardAPIVolumeSource: { items: payload, defaultMode: payload, defaultUser: owner },
  DownwardAPIVolumeFile: { path: payload, fieldRef: payload, resourceFieldRef: payload, mode: payload, user: owner },
  KeyToPath: { key: payload, path: payload, mode: payload, user: owner },
  ProjectedVolumeSource: { sources: payload, defaultMode: payload, defaultUser: owner },
  VolumeProjection: {
    secret: payload,
    downwardAPI: payload,
    configMap: payload,
    serviceAccountToken: payload,
    clusterTrustBundle: { refused: 'FailedMount', because: 'ClusterTrustBundles are not read' },
    podCertificate: { refused: 'FailedMount', because: 'certificates are not requested for pods' },
  },
  SecretProjection: { name: payload, items: payload, optional: payload },
  ConfigMapProjection: { name: payload, items: payload, optional: payload },
  DownwardAPIProjection: { items: payload },
  ServiceAccountTokenProjection: {
    audience: at('node/container-options/service-account-tokens'),
    expirationSeconds: at('node/container-options/service-account-tokens'),
    path: payload,
    user: owner,
  },
} as const satisfies Tables;

/** A struct of the API that a pod's spec is made of. */
export type PodSpecStruct = keyof typeof podSpecFields;
