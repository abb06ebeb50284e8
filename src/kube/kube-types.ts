// Generated from k8s.io/api v0.37.1 by test/api-server/kube-types/main.go. Do not edit.

/**
 * The Go structs of the kinds that are served: their members by JSON name. `?` marks a member that is left
 * out when it is empty, `*` a pointer. `string:PodPhase` is a string with a Go type of its own.
 */
export const kubeTypes = {
  AWSElasticBlockStoreVolumeSource: 'volumeID string; fsType? string; partition? int32; readOnly? bool',
  Affinity: 'nodeAffinity? *NodeAffinity; podAffinity? *PodAffinity; podAntiAffinity? *PodAntiAffinity',
  AppArmorProfile: 'type string:AppArmorProfileType; localhostProfile? *string',
  AttachedVolume: 'name string:UniqueVolumeName; devicePath string',
  AzureDiskVolumeSource:
    'diskName string; diskURI string; cachingMode? *string:AzureDataDiskCachingMode; fsType? *string; readOnly? *bool; kind? *string:AzureDataDiskKind',
  AzureFileVolumeSource: 'secretName string; shareName string; readOnly? bool',
  Binding: 'kind? string; apiVersion? string; metadata ObjectMeta; target ObjectReference',
  CSIVolumeSource:
    'driver string; readOnly? *bool; fsType? *string; volumeAttributes? map[string]string; nodePublishSecretRef? *LocalObjectReference',
  Capabilities: 'add? []string:Capability; drop? []string:Capability',
  CephFSVolumeSource:
    'monitors []string; path? string; user? string; secretFile? string; secretRef? *LocalObjectReference; readOnly? bool',
  CinderVolumeSource: 'volumeID string; fsType? string; readOnly? bool; secretRef? *LocalObjectReference',
  ClientIPConfig: 'timeoutSeconds? *int32',
  ClusterTrustBundleProjection:
    'name? *string; signerName? *string; labelSelector? *LabelSelector; optional? *bool; path string; user? *int64',
  Condition:
    'type string; status string:ConditionStatus; observedGeneration? int64; lastTransitionTime Time; reason string; message string',
  ConfigMapEnvSource: 'name? string; optional? *bool',
  ConfigMapKeySelector: 'name? string; key string; optional? *bool',
  ConfigMapNodeConfigSource:
    'namespace string; name string; uid? string:UID; resourceVersion? string; kubeletConfigKey string',
  ConfigMapProjection: 'name? string; items? []KeyToPath; optional? *bool',
  ConfigMapVolumeSource: 'name? string; items? []KeyToPath; defaultMode? *int32; optional? *bool; defaultUser? *int64',
  Container:
    'name string; image? string; command? []string; args? []string; workingDir? string; ports? []ContainerPort; envFrom? []EnvFromSource; env? []EnvVar; resources ResourceRequirements; resizePolicy? []ContainerResizePolicy; restartPolicy? *string:ContainerRestartPolicy; restartPolicyRules? []ContainerRestartRule; volumeMounts? []VolumeMount; volumeDevices? []VolumeDevice; livenessProbe? *Probe; readinessProbe? *Probe; startupProbe? *Probe; lifecycle? *Lifecycle; terminationMessagePath? string; terminationMessagePolicy? string:TerminationMessagePolicy; imagePullPolicy? string:PullPolicy; securityContext? *SecurityContext; stdin? bool; stdinOnce? bool; tty? bool',
  ContainerExtendedResourceRequest: 'containerName string; resourceName string; requestName string',
  ContainerImage: 'names []string; sizeBytes? int64',
  ContainerPort: 'name? string; hostPort? int32; containerPort int32; protocol? string:Protocol; hostIP? string',
  ContainerResizePolicy: 'resourceName string:ResourceName; restartPolicy string:ResourceResizeRestartPolicy',
  ContainerRestartRule: 'action? string:ContainerRestartRuleAction; exitCodes? *ContainerRestartRuleOnExitCodes',
  ContainerRestartRuleOnExitCodes: 'operator? string:ContainerRestartRuleOnExitCodesOperator; values? []int32',
  ContainerState:
    'waiting? *ContainerStateWaiting; running? *ContainerStateRunning; terminated? *ContainerStateTerminated',
  ContainerStateRunning: 'startedAt Time',
  ContainerStateTerminated:
    'exitCode int32; signal? int32; reason? string; message? string; startedAt Time; finishedAt Time; containerID? string',
  ContainerStateWaiting: 'reason? string; message? string',
  ContainerStatus:
    'name string; state ContainerState; lastState ContainerState; ready bool; restartCount int32; image string; imageID string; containerID? string; started? *bool; allocatedResources? map[string]Quantity; resources? *ResourceRequirements; volumeMounts? []VolumeMountStatus; user? *ContainerUser; allocatedResourcesStatus? []ResourceStatus; stopSignal? *string:Signal',
  ContainerUser: 'linux? *LinuxContainerUser',
  DaemonEndpoint: 'Port int32',
  DeleteOptions:
    'kind? string; apiVersion? string; gracePeriodSeconds? *int64; preconditions? *Preconditions; orphanDependents? *bool; propagationPolicy? *string:DeletionPropagation; dryRun? []string; ignoreStoreReadErrorWithClusterBreakingPotential? *bool',
  DownwardAPIProjection: 'items? []DownwardAPIVolumeFile',
  DownwardAPIVolumeFile:
    'path string; fieldRef? *ObjectFieldSelector; resourceFieldRef? *ResourceFieldSelector; mode? *int32; user? *int64',
  DownwardAPIVolumeSource: 'items? []DownwardAPIVolumeFile; defaultMode? *int32; defaultUser? *int64',
  EmptyDirVolumeSource: 'medium? string:StorageMedium; sizeLimit? *Quantity; mode? *int32',
  EnvFromSource: 'prefix? string; configMapRef? *ConfigMapEnvSource; secretRef? *SecretEnvSource',
  EnvVar: 'name string; value? string; valueFrom? *EnvVarSource',
  EnvVarSource:
    'fieldRef? *ObjectFieldSelector; resourceFieldRef? *ResourceFieldSelector; configMapKeyRef? *ConfigMapKeySelector; secretKeyRef? *SecretKeySelector; fileKeyRef? *FileKeySelector',
  EphemeralContainer:
    'name string; image? string; command? []string; args? []string; workingDir? string; ports? []ContainerPort; envFrom? []EnvFromSource; env? []EnvVar; resources ResourceRequirements; resizePolicy? []ContainerResizePolicy; restartPolicy? *string:ContainerRestartPolicy; restartPolicyRules? []ContainerRestartRule; volumeMounts? []VolumeMount; volumeDevices? []VolumeDevice; livenessProbe? *Probe; readinessProbe? *Probe; startupProbe? *Probe; lifecycle? *Lifecycle; terminationMessagePath? string; terminationMessagePolicy? string:TerminationMessagePolicy; imagePullPolicy? string:PullPolicy; securityContext? *SecurityContext; stdin? bool; stdinOnce? bool; tty? bool; targetContainerName? string',
  EphemeralVolumeSource: 'volumeClaimTemplate? *PersistentVolumeClaimTemplate',
  Event:
    'kind? string; apiVersion? string; metadata ObjectMeta; involvedObject ObjectReference; reason? string; message? string; source EventSource; firstTimestamp Time; lastTimestamp Time; count? int32; type? string; eventTime MicroTime; series? *EventSeries; action? string; related? *ObjectReference; reportingComponent string; reportingInstance string',
  EventSeries: 'count? int32; lastObservedTime MicroTime',
  EventSource: 'component? string; host? string',
  Eviction: 'kind? string; apiVersion? string; metadata ObjectMeta; deleteOptions? *DeleteOptions',
  EvictionResponder: 'name string; priority *int32',
  ExecAction: 'command? []string',
  FCVolumeSource: 'targetWWNs? []string; lun? *int32; fsType? string; readOnly? bool; wwids? []string',
  FieldSelectorAttributes: 'rawSelector? string; requirements? []FieldSelectorRequirement',
  FieldSelectorRequirement: 'key string; operator string:FieldSelectorOperator; values? []string',
  FileKeySelector: 'volumeName string; path string; key string; optional? *bool',
  FlexVolumeSource:
    'driver string; fsType? string; secretRef? *LocalObjectReference; readOnly? bool; options? map[string]string',
  FlockerVolumeSource: 'datasetName? string; datasetUUID? string',
  GCEPersistentDiskVolumeSource: 'pdName string; fsType? string; partition? int32; readOnly? bool',
  GRPCAction: 'port int32; service *string; mode? *string:GRPCProbeMode',
  GitRepoVolumeSource: 'repository string; revision? string; directory? string',
  GlusterfsVolumeSource: 'endpoints string; path string; readOnly? bool',
  HTTPGetAction:
    'path? string; port IntOrString; host? string; scheme? string:URIScheme; httpHeaders? []HTTPHeader; protocol? *string:HTTPProtocol',
  HTTPHeader: 'name string; value string',
  HostAlias: 'ip string; hostnames? []string',
  HostIP: 'ip string',
  HostPathVolumeSource: 'path string; type? *string:HostPathType',
  ISCSIVolumeSource:
    'targetPortal string; iqn string; lun int32; iscsiInterface? string; fsType? string; readOnly? bool; portals? []string; chapAuthDiscovery? bool; chapAuthSession? bool; secretRef? *LocalObjectReference; initiatorName? *string',
  ImageVolumeSource: 'reference? string; pullPolicy? string:PullPolicy',
  ImageVolumeStatus: 'imageRef? string',
  KeyToPath: 'key string; path string; mode? *int32; user? *int64',
  LabelSelector: 'matchLabels? map[string]string; matchExpressions? []LabelSelectorRequirement',
  LabelSelectorAttributes: 'rawSelector? string; requirements? []LabelSelectorRequirement',
  LabelSelectorRequirement: 'key string; operator string:LabelSelectorOperator; values? []string',
  Lease: 'kind? string; apiVersion? string; metadata ObjectMeta; spec LeaseSpec',
  LeaseSpec:
    'holderIdentity? *string; leaseDurationSeconds? *int32; acquireTime? *MicroTime; renewTime? *MicroTime; leaseTransitions? *int32; strategy? *string:CoordinatedLeaseStrategy; preferredHolder? *string',
  Lifecycle: 'postStart? *LifecycleHandler; preStop? *LifecycleHandler; stopSignal? *string:Signal',
  LifecycleHandler: 'exec? *ExecAction; httpGet? *HTTPGetAction; tcpSocket? *TCPSocketAction; sleep? *SleepAction',
  LinuxContainerUser: 'uid int64; gid int64; supplementalGroups? []int64',
  LoadBalancerIngress: 'ip? string; hostname? string; ipMode? *string:LoadBalancerIPMode; ports? []PortStatus',
  LoadBalancerStatus: 'ingress? []LoadBalancerIngress',
  LocalObjectReference: 'name? string',
  ManagedFieldsEntry:
    'manager? string; operation? string:ManagedFieldsOperationType; apiVersion? string; time? *Time; fieldsType? string; fieldsV1? *any; subresource? string',
  NFSVolumeSource: 'server string; path string; readOnly? bool',
  Namespace: 'kind? string; apiVersion? string; metadata ObjectMeta; spec NamespaceSpec; status NamespaceStatus',
  NamespaceCondition:
    'type string:NamespaceConditionType; status string:ConditionStatus; lastTransitionTime Time; reason? string; message? string',
  NamespaceSpec: 'finalizers? []string:FinalizerName',
  NamespaceStatus: 'phase? string:NamespacePhase; conditions? []NamespaceCondition',
  Node: 'kind? string; apiVersion? string; metadata ObjectMeta; spec NodeSpec; status NodeStatus',
  NodeAddress: 'type string:NodeAddressType; address string',
  NodeAffinity:
    'requiredDuringSchedulingIgnoredDuringExecution? *NodeSelector; preferredDuringSchedulingIgnoredDuringExecution? []PreferredSchedulingTerm',
  NodeAllocatableMappedResources: 'name string:ResourceName; quantity *Quantity',
  NodeAllocatableOverheadResources: 'name string:ResourceName; perPod? *Quantity; perContainer? *Quantity',
  NodeAllocatableResourceClaimStatus:
    'resourceClaimName string; containers? []string; mapping? []NodeAllocatableMappedResources; overhead? []NodeAllocatableOverheadResources',
  NodeCondition:
    'type string:NodeConditionType; status string:ConditionStatus; lastHeartbeatTime Time; lastTransitionTime Time; reason? string; message? string',
  NodeConfigSource: 'configMap? *ConfigMapNodeConfigSource',
  NodeConfigStatus:
    'assigned? *NodeConfigSource; active? *NodeConfigSource; lastKnownGood? *NodeConfigSource; error? string',
  NodeDaemonEndpoints: 'kubeletEndpoint DaemonEndpoint',
  NodeFeatures: 'supplementalGroupsPolicy? *bool',
  NodePodPreemptionPolicy: 'disableResizePreemption? []string',
  NodeRuntimeHandler: 'name string; features? *NodeRuntimeHandlerFeatures',
  NodeRuntimeHandlerFeatures: 'recursiveReadOnlyMounts? *bool; userNamespaces? *bool',
  NodeSelector: 'nodeSelectorTerms []NodeSelectorTerm',
  NodeSelectorRequirement: 'key string; operator string:NodeSelectorOperator; values? []string',
  NodeSelectorTerm: 'matchExpressions? []NodeSelectorRequirement; matchFields? []NodeSelectorRequirement',
  NodeSpec:
    'podCIDR? string; podCIDRs? []string; providerID? string; unschedulable? bool; taints? []Taint; configSource? *NodeConfigSource; externalID? string; podPreemptionPolicy? *NodePodPreemptionPolicy',
  NodeStatus:
    'capacity? map[string]Quantity; allocatable? map[string]Quantity; phase? string:NodePhase; conditions? []NodeCondition; addresses? []NodeAddress; daemonEndpoints NodeDaemonEndpoints; nodeInfo NodeSystemInfo; images? []ContainerImage; volumesInUse? []string:UniqueVolumeName; volumesAttached? []AttachedVolume; config? *NodeConfigStatus; runtimeHandlers? []NodeRuntimeHandler; features? *NodeFeatures; declaredFeatures? []string',
  NodeSwapStatus: 'capacity? *int64',
  NodeSystemInfo:
    'machineID string; systemUUID string; bootID string; kernelVersion string; osImage string; containerRuntimeVersion string; kubeletVersion string; kubeProxyVersion string; operatingSystem string; architecture string; swap? *NodeSwapStatus; runningInUserNamespace? *bool',
  NonResourceAttributes: 'path? string; verb? string',
  ObjectFieldSelector: 'apiVersion? string; fieldPath string',
  ObjectMeta:
    'name? string; generateName? string; namespace? string; selfLink? string; uid? string:UID; resourceVersion? string; generation? int64; creationTimestamp? Time; deletionTimestamp? *Time; deletionGracePeriodSeconds? *int64; labels? map[string]string; annotations? map[string]string; ownerReferences? []OwnerReference; finalizers? []string; managedFields? []ManagedFieldsEntry',
  ObjectReference:
    'kind? string; namespace? string; name? string; uid? string:UID; apiVersion? string; resourceVersion? string; fieldPath? string',
  OwnerReference:
    'apiVersion string; kind string; name string; uid string:UID; controller? *bool; blockOwnerDeletion? *bool',
  PersistentVolumeClaimSpec:
    'accessModes? []string:PersistentVolumeAccessMode; selector? *LabelSelector; resources VolumeResourceRequirements; volumeName? string; storageClassName? *string; volumeMode? *string:PersistentVolumeMode; dataSource? *TypedLocalObjectReference; dataSourceRef? *TypedObjectReference; volumeAttributesClassName? *string',
  PersistentVolumeClaimTemplate: 'metadata ObjectMeta; spec PersistentVolumeClaimSpec',
  PersistentVolumeClaimVolumeSource: 'claimName string; readOnly? bool',
  PhotonPersistentDiskVolumeSource: 'pdID string; fsType? string',
  Pod: 'kind? string; apiVersion? string; metadata ObjectMeta; spec PodSpec; status PodStatus',
  PodAffinity:
    'requiredDuringSchedulingIgnoredDuringExecution? []PodAffinityTerm; preferredDuringSchedulingIgnoredDuringExecution? []WeightedPodAffinityTerm',
  PodAffinityTerm:
    'labelSelector? *LabelSelector; namespaces? []string; topologyKey string; namespaceSelector? *LabelSelector; matchLabelKeys? []string; mismatchLabelKeys? []string',
  PodAntiAffinity:
    'requiredDuringSchedulingIgnoredDuringExecution? []PodAffinityTerm; preferredDuringSchedulingIgnoredDuringExecution? []WeightedPodAffinityTerm',
  PodCertificateProjection:
    'signerName? string; keyType? string; maxExpirationSeconds? *int32; credentialBundlePath? string; keyPath? string; certificateChainPath? string; userAnnotations? map[string]string; user? *int64',
  PodCondition:
    'type string:PodConditionType; observedGeneration? int64; status string:ConditionStatus; lastProbeTime Time; lastTransitionTime Time; reason? string; message? string',
  PodDNSConfig: 'nameservers? []string; searches? []string; options? []PodDNSConfigOption',
  PodDNSConfigOption: 'name? string; value? *string',
  PodExtendedResourceClaimStatus: 'requestMappings []ContainerExtendedResourceRequest; resourceClaimName string',
  PodIP: 'ip string',
  PodOS: 'name string:OSName',
  PodReadinessGate: 'conditionType string:PodConditionType',
  PodResourceClaim: 'name string; resourceClaimName? *string; resourceClaimTemplateName? *string',
  PodResourceClaimStatus: 'name string; resourceClaimName? *string',
  PodSchedulingGate: 'name string',
  PodSchedulingGroup: 'podGroupName? *string',
  PodSecurityContext:
    'seLinuxOptions? *SELinuxOptions; windowsOptions? *WindowsSecurityContextOptions; runAsUser? *int64; runAsGroup? *int64; runAsNonRoot? *bool; supplementalGroups? []int64; supplementalGroupsPolicy? *string:SupplementalGroupsPolicy; fsGroup? *int64; sysctls? []Sysctl; fsGroupChangePolicy? *string:PodFSGroupChangePolicy; seccompProfile? *SeccompProfile; appArmorProfile? *AppArmorProfile; seLinuxChangePolicy? *string:PodSELinuxChangePolicy',
  PodSpec:
    'volumes? []Volume; initContainers? []Container; containers []Container; ephemeralContainers? []EphemeralContainer; restartPolicy? string:RestartPolicy; terminationGracePeriodSeconds? *int64; activeDeadlineSeconds? *int64; dnsPolicy? string:DNSPolicy; nodeSelector? map[string]string; serviceAccountName? string; serviceAccount? string; automountServiceAccountToken? *bool; nodeName? string; hostNetwork? bool; hostPID? bool; hostIPC? bool; shareProcessNamespace? *bool; securityContext? *PodSecurityContext; imagePullSecrets? []LocalObjectReference; hostname? string; subdomain? string; affinity? *Affinity; schedulerName? string; tolerations? []Toleration; hostAliases? []HostAlias; priorityClassName? string; priority? *int32; dnsConfig? *PodDNSConfig; readinessGates? []PodReadinessGate; runtimeClassName? *string; enableServiceLinks? *bool; preemptionPolicy? *string:PreemptionPolicy; overhead? map[string]Quantity; topologySpreadConstraints? []TopologySpreadConstraint; setHostnameAsFQDN? *bool; os? *PodOS; hostUsers? *bool; schedulingGates? []PodSchedulingGate; resourceClaims? []PodResourceClaim; resources? *ResourceRequirements; hostnameOverride? *string; schedulingGroup? *PodSchedulingGroup; evictionResponders? []EvictionResponder',
  PodStatus:
    'observedGeneration? int64; phase? string:PodPhase; conditions? []PodCondition; message? string; reason? string; nominatedNodeName? string; hostIP? string; hostIPs? []HostIP; podIP? string; podIPs? []PodIP; startTime? *Time; initContainerStatuses? []ContainerStatus; containerStatuses? []ContainerStatus; qosClass? string:PodQOSClass; ephemeralContainerStatuses? []ContainerStatus; resize? string:PodResizeStatus; resourceClaimStatuses? []PodResourceClaimStatus; extendedResourceClaimStatus? *PodExtendedResourceClaimStatus; allocatedResources? map[string]Quantity; resources? *ResourceRequirements; nodeAllocatableResourceClaimStatuses? []NodeAllocatableResourceClaimStatus; volumeHealth? []PodVolumeHealth',
  PodVolumeHealth: 'name string; healthConditions? []VolumeHealthCondition; lastTransitionTime Time',
  PortStatus: 'port int32; protocol string:Protocol; error? *string',
  PortworxVolumeSource: 'volumeID string; fsType? string; readOnly? bool',
  Preconditions: 'uid? *string:UID; resourceVersion? *string',
  PreferredSchedulingTerm: 'weight int32; preference NodeSelectorTerm',
  Probe:
    'exec? *ExecAction; httpGet? *HTTPGetAction; tcpSocket? *TCPSocketAction; grpc? *GRPCAction; initialDelaySeconds? int32; timeoutSeconds? int32; periodSeconds? int32; successThreshold? int32; failureThreshold? int32; terminationGracePeriodSeconds? *int64',
  ProjectedVolumeSource: 'sources []VolumeProjection; defaultMode? *int32; defaultUser? *int64',
  QuobyteVolumeSource: 'registry string; volume string; readOnly? bool; user? string; group? string; tenant? string',
  RBDVolumeSource:
    'monitors []string; image string; fsType? string; pool? string; user? string; keyring? string; secretRef? *LocalObjectReference; readOnly? bool',
  ResourceAttributes:
    'namespace? string; verb? string; group? string; version? string; resource? string; subresource? string; name? string; fieldSelector? *FieldSelectorAttributes; labelSelector? *LabelSelectorAttributes',
  ResourceClaim: 'name string; request? string',
  ResourceFieldSelector: 'containerName? string; resource string; divisor Quantity',
  ResourceHealth: 'resourceID string:ResourceID; health? string:ResourceHealthStatus; message? *string',
  ResourceRequirements: 'limits? map[string]Quantity; requests? map[string]Quantity; claims? []ResourceClaim',
  ResourceStatus: 'name string:ResourceName; resources? []ResourceHealth',
  SELinuxOptions: 'user? string; role? string; type? string; level? string',
  ScaleIOVolumeSource:
    'gateway string; system string; secretRef *LocalObjectReference; sslEnabled? bool; protectionDomain? string; storagePool? string; storageMode? string; volumeName? string; fsType? string; readOnly? bool',
  SeccompProfile: 'type string:SeccompProfileType; localhostProfile? *string',
  SecretEnvSource: 'name? string; optional? *bool',
  SecretKeySelector: 'name? string; key string; optional? *bool',
  SecretProjection: 'name? string; items? []KeyToPath; optional? *bool',
  SecretVolumeSource:
    'secretName? string; items? []KeyToPath; defaultMode? *int32; optional? *bool; defaultUser? *int64',
  SecurityContext:
    'capabilities? *Capabilities; privileged? *bool; seLinuxOptions? *SELinuxOptions; windowsOptions? *WindowsSecurityContextOptions; runAsUser? *int64; runAsGroup? *int64; runAsNonRoot? *bool; readOnlyRootFilesystem? *bool; allowPrivilegeEscalation? *bool; procMount? *string:ProcMountType; seccompProfile? *SeccompProfile; appArmorProfile? *AppArmorProfile',
  SelfSubjectAccessReview:
    'kind? string; apiVersion? string; metadata ObjectMeta; spec SelfSubjectAccessReviewSpec; status SubjectAccessReviewStatus',
  SelfSubjectAccessReviewSpec: 'resourceAttributes? *ResourceAttributes; nonResourceAttributes? *NonResourceAttributes',
  Service: 'kind? string; apiVersion? string; metadata ObjectMeta; spec ServiceSpec; status ServiceStatus',
  ServiceAccountTokenProjection: 'audience? string; expirationSeconds? *int64; path string; user? *int64',
  ServicePort:
    'name? string; protocol? string:Protocol; appProtocol? *string; port int32; targetPort IntOrString; nodePort? int32',
  ServiceSpec:
    'ports? []ServicePort; selector? map[string]string; clusterIP? string; clusterIPs? []string; type? string:ServiceType; externalIPs? []string; sessionAffinity? string:ServiceAffinity; loadBalancerIP? string; loadBalancerSourceRanges? []string; externalName? string; externalTrafficPolicy? string:ServiceExternalTrafficPolicy; healthCheckNodePort? int32; publishNotReadyAddresses? bool; sessionAffinityConfig? *SessionAffinityConfig; ipFamilies? []string:IPFamily; ipFamilyPolicy? *string:IPFamilyPolicy; allocateLoadBalancerNodePorts? *bool; loadBalancerClass? *string; internalTrafficPolicy? *string:ServiceInternalTrafficPolicy; trafficDistribution? *string',
  ServiceStatus: 'loadBalancer LoadBalancerStatus; conditions? []Condition',
  SessionAffinityConfig: 'clientIP? *ClientIPConfig',
  SleepAction: 'seconds int64',
  StorageOSVolumeSource:
    'volumeName? string; volumeNamespace? string; fsType? string; readOnly? bool; secretRef? *LocalObjectReference',
  SubjectAccessReviewStatus: 'allowed bool; denied? bool; reason? string; evaluationError? string',
  Sysctl: 'name string; value string',
  TCPSocketAction: 'port IntOrString; host? string',
  Taint: 'key string; value? string; effect string:TaintEffect; timeAdded? *Time',
  Toleration:
    'key? string; operator? string:TolerationOperator; value? string; effect? string:TaintEffect; tolerationSeconds? *int64',
  TopologySpreadConstraint:
    'maxSkew int32; topologyKey string; whenUnsatisfiable string:UnsatisfiableConstraintAction; labelSelector? *LabelSelector; minDomains? *int32; nodeAffinityPolicy? *string:NodeInclusionPolicy; nodeTaintsPolicy? *string:NodeInclusionPolicy; matchLabelKeys? []string',
  TypedLocalObjectReference: 'apiGroup *string; kind string; name string',
  TypedObjectReference: 'apiGroup *string; kind string; name string; namespace? *string',
  Volume:
    'name string; hostPath? *HostPathVolumeSource; emptyDir? *EmptyDirVolumeSource; gcePersistentDisk? *GCEPersistentDiskVolumeSource; awsElasticBlockStore? *AWSElasticBlockStoreVolumeSource; gitRepo? *GitRepoVolumeSource; secret? *SecretVolumeSource; nfs? *NFSVolumeSource; iscsi? *ISCSIVolumeSource; glusterfs? *GlusterfsVolumeSource; persistentVolumeClaim? *PersistentVolumeClaimVolumeSource; rbd? *RBDVolumeSource; flexVolume? *FlexVolumeSource; cinder? *CinderVolumeSource; cephfs? *CephFSVolumeSource; flocker? *FlockerVolumeSource; downwardAPI? *DownwardAPIVolumeSource; fc? *FCVolumeSource; azureFile? *AzureFileVolumeSource; configMap? *ConfigMapVolumeSource; vsphereVolume? *VsphereVirtualDiskVolumeSource; quobyte? *QuobyteVolumeSource; azureDisk? *AzureDiskVolumeSource; photonPersistentDisk? *PhotonPersistentDiskVolumeSource; projected? *ProjectedVolumeSource; portworxVolume? *PortworxVolumeSource; scaleIO? *ScaleIOVolumeSource; storageos? *StorageOSVolumeSource; csi? *CSIVolumeSource; ephemeral? *EphemeralVolumeSource; image? *ImageVolumeSource',
  VolumeDevice: 'name string; devicePath string',
  VolumeHealthCondition: 'status string:VolumeHealthStatusType; reason string; message? string',
  VolumeMount:
    'name string; readOnly? bool; recursiveReadOnly? *string:RecursiveReadOnlyMode; mountPath string; subPath? string; mountPropagation? *string:MountPropagationMode; subPathExpr? string; bindMountOptions? []string',
  VolumeMountStatus:
    'name string; mountPath string; readOnly? bool; recursiveReadOnly? *string:RecursiveReadOnlyMode; volumeStatus? *VolumeStatus',
  VolumeProjection:
    'secret? *SecretProjection; downwardAPI? *DownwardAPIProjection; configMap? *ConfigMapProjection; serviceAccountToken? *ServiceAccountTokenProjection; clusterTrustBundle? *ClusterTrustBundleProjection; podCertificate? *PodCertificateProjection',
  VolumeResourceRequirements: 'limits? map[string]Quantity; requests? map[string]Quantity',
  VolumeStatus: 'image? *ImageVolumeStatus',
  VsphereVirtualDiskVolumeSource:
    'volumePath string; fsType? string; storagePolicyName? string; storagePolicyID? string',
  WeightedPodAffinityTerm: 'weight int32; podAffinityTerm PodAffinityTerm',
  WindowsSecurityContextOptions:
    'gmsaCredentialSpecName? *string; gmsaCredentialSpec? *string; runAsUserName? *string; hostProcess? *bool',
  'events.Event':
    'kind? string; apiVersion? string; metadata ObjectMeta; eventTime MicroTime; series? *events.EventSeries; reportingController? string; reportingInstance? string; action? string; reason? string; regarding ObjectReference; related? *ObjectReference; note? string; type? string; deprecatedSource EventSource; deprecatedFirstTimestamp Time; deprecatedLastTimestamp Time; deprecatedCount? int32',
  'events.EventSeries': 'count int32; lastObservedTime MicroTime',
} as const;
