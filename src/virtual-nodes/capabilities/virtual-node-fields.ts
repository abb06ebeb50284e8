import type { KubeFieldName } from '../../kube/objects/kube-object.ts';
import { each } from '../../node/index.ts';
import type { ProviderCapabilities } from './provider-capabilities.ts';

/*
 * Who implements each field of a pod's spec on a virtual node. A field of a newer release does not compile until it has a
 * row. A part of docs/internals/pod-spec.md is generated from these tables.
 */

export type VirtualNodeRow =
  /** The file or folder below `src` that implements it. */
  | { readonly library: string; readonly note?: string }
  /** What the provider must do. The library cannot check it. */
  | { readonly provider: string }
  /** The capability that the provider must declare; otherwise the pod is refused. */
  | { readonly needs: keyof ProviderCapabilities; readonly note?: string }
  /** Why the node does nothing. */
  | { readonly ignored: string };

type Rows<Struct extends 'PodSpec' | 'Container' | 'Volume'> = {
  readonly [Field in KubeFieldName<Struct>]: VirtualNodeRow;
};

const by = (library: string, note?: string): VirtualNodeRow => ({ library, ...(note !== undefined && { note }) });
const provider = (what: string): VirtualNodeRow => ({ provider: what });
const needs = (capability: keyof ProviderCapabilities, note?: string): VirtualNodeRow => ({
  needs: capability,
  ...(note !== undefined && { note }),
});
const byScheduler: VirtualNodeRow = { ignored: 'for the scheduler' };
const asGiven = provider('applies it');
const materials = by('virtual-nodes/materials', 'resolved by `materials()`');

export const virtualNodeFields: {
  readonly PodSpec: Rows<'PodSpec'>;
  readonly Container: Rows<'Container'>;
  readonly Volume: Rows<'Volume'>;
} = {
  PodSpec: {
    volumes: provider('mounts them; see `Volume`'),
    initContainers: needs('initContainers'),
    containers: provider('runs them, and reports each'),
    ephemeralContainers: provider('runs them in `updatePod`, or they wait with the reason `NotReportedByProvider`'),
    restartPolicy: by('virtual-nodes/pods', 'with `restarts: node`; the provider otherwise'),
    terminationGracePeriodSeconds: by('node/pod-workers/pod-sync-status', 'passed to `deletePod`, which obeys it'),
    activeDeadlineSeconds: by('node/pod-workers/active-deadline'),
    ...each(asGiven, 'dnsPolicy dnsConfig hostAliases hostname subdomain setHostnameAsFQDN hostnameOverride'),
    ...each(by('node/admission/general-predicates'), 'nodeSelector affinity'),
    serviceAccountName: by('node/container-options/token-manager', 'tokens are in `materials()`'),
    serviceAccount: { ignored: 'the old name of `serviceAccountName`' },
    automountServiceAccountToken: { ignored: 'for the API server, which adds the volume of the token' },
    nodeName: by('node/admission/general-predicates'),
    ...each(needs('hostNamespaces'), 'hostNetwork hostPID hostIPC'),
    ...each(asGiven, 'shareProcessNamespace securityContext runtimeClassName hostUsers'),
    imagePullSecrets: materials,
    ...each(byScheduler, 'schedulerName preemptionPolicy topologySpreadConstraints schedulingGates schedulingGroup'),
    tolerations: by('node/registration/tolerates-taints'),
    priorityClassName: { ignored: 'for the API server, which sets `priority`' },
    priority: by('node/admission/preemption', 'a critical pod takes the place of others'),
    readinessGates: by('status-manager/status/generate-conditions'),
    enableServiceLinks: by('node/container-options/service-environment'),
    overhead: by('status-manager/status/pod-resources'),
    os: by('node/admission/predicate-admit-handler'),
    resourceClaims: provider('allocates devices'),
    resources: by('node/admission/fits-resources', 'counted at admission; the provider applies it'),
    evictionResponders: { ignored: 'for the API server and controllers' },
  },
  Container: {
    ...each(provider('uses it'), 'name image imagePullPolicy workingDir stdin stdinOnce tty securityContext'),
    ...each(materials, 'command args envFrom env'),
    ports: by('node/admission/general-predicates', 'host ports collide at admission; the provider publishes them'),
    resources: by('node/admission/fits-resources', 'counted at admission; `updatePod` is called for a resize'),
    resizePolicy: provider('obeys it in `updatePod`'),
    restartPolicy: by('virtual-nodes/pods', 'with `restarts: node`; the provider otherwise'),
    restartPolicyRules: needs('restarts'),
    volumeMounts: provider('mounts what `materials()` has, and the volumes that it declares'),
    volumeDevices: needs('volumes'),
    ...each(needs('probes', '`node`: run by `node/prober`, commands by `exec`'), 'readinessProbe'),
    ...each(needs('probes', '`node`: the same, and `killContainer` after failures'), 'livenessProbe startupProbe'),
    lifecycle: needs('hooks'),
    ...each(provider('reports the message as `exit.message`'), 'terminationMessagePath terminationMessagePolicy'),
  },
  Volume: {
    name: provider('mounts it by its name'),
    ...each(materials, 'secret configMap downwardAPI projected'),
    ...each(
      needs('volumes'),
      'hostPath emptyDir gcePersistentDisk awsElasticBlockStore gitRepo nfs iscsi glusterfs persistentVolumeClaim rbd flexVolume cinder cephfs flocker fc azureFile vsphereVolume quobyte azureDisk photonPersistentDisk portworxVolume scaleIO storageos csi ephemeral image',
    ),
  },
};
