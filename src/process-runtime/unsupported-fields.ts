import { firstBy } from '../shared/by-field.ts';
import { type KubeFieldName, type KubeObject, type KubeType, podSpecOf } from '../kube/objects/kube-object.ts';
import type { Container, Pod } from '../kube/objects/types.ts';
import { appArmorProfile, each, isReadOnlySource, volumesOf } from '../node/index.ts';

/*
 * What happens with each field that the runtime, and not the agent, must obey. A field of a newer release does not compile
 * until it has a row. docs/guides/process-runtime.md lists the refused and the ignored ones.
 */

/** The user whose processes the containers are. */
export interface ProcessUser {
  readonly uid: number;
  readonly gid: number;
  /** All groups. */
  readonly groups: readonly number[];
}

export function thisUser(): ProcessUser {
  const [uid, gid] = [process.geteuid!(), process.getegid!()];
  return { uid, gid, groups: [gid, ...process.getgroups!()] };
}

type Row<Value = unknown, Struct = unknown> =
  /** The agent, the helper or this runtime implements the field, or it is not for a node. */
  | 'done'
  | { readonly ignored: string }
  /** Why a process cannot have it. `unless` accepts values that every process has anyway. */
  | { readonly refused: string; readonly unless?: (value: Value, user: ProcessUser, struct: Struct) => boolean };

type Rows<Struct extends KubeType> = {
  readonly [Field in KubeFieldName<Struct>]: Row<
    NonNullable<KubeObject<Struct>[Field & keyof KubeObject<Struct>]>,
    KubeObject<Struct>
  >;
};

const done: Row<never, never> = 'done';
const shared: Row = { ignored: 'containers have the network, the processes and the IPC of the machine' };
const noImage: Row = { ignored: 'images are not used' };
const otherUser = 'processes have the user and the groups of the agent';
const noSecurity = 'processes are not confined';
const unconfined = { refused: noSecurity, unless: ({ type }: { readonly type?: string }) => type === 'Unconfined' };
const hasGroup = (group: number, { groups }: ProcessUser): boolean => groups.includes(group);
const isFalse = (value: boolean): boolean => !value;

export const processFields = {
  PodSpec: {
    ...each(
      done,
      'volumes initContainers containers ephemeralContainers restartPolicy terminationGracePeriodSeconds activeDeadlineSeconds nodeSelector affinity serviceAccountName serviceAccount automountServiceAccountToken nodeName schedulerName preemptionPolicy topologySpreadConstraints schedulingGates schedulingGroup tolerations priorityClassName priority readinessGates enableServiceLinks overhead os resourceClaims evictionResponders',
    ),
    ...each({ ignored: 'they are only in `$HOSTNAME`' }, 'hostname subdomain setHostnameAsFQDN hostnameOverride'),
    ...each(shared, 'hostNetwork hostPID hostIPC shareProcessNamespace'),
    imagePullSecrets: noImage,
    dnsPolicy: { ignored: 'names are resolved by the machine' },
    dnsConfig: { refused: 'names are resolved by the machine' },
    hostAliases: { refused: '/etc/hosts is that of the machine' },
    hostUsers: { refused: 'processes have no user namespace', unless: (value) => value },
    runtimeClassName: done,
    securityContext: done,
    resources: { ignored: 'limits are not enforced' },
  },
  PodSecurityContext: {
    ...each(
      done,
      'seLinuxOptions runAsUser runAsGroup runAsNonRoot seccompProfile appArmorProfile windowsOptions fsGroupChangePolicy seLinuxChangePolicy',
    ),
    supplementalGroups: { refused: otherUser, unless: (groups, user) => groups.every((one) => hasGroup(one, user)) },
    supplementalGroupsPolicy: { refused: otherUser, unless: (policy) => policy === 'Merge' },
    fsGroup: { refused: otherUser, unless: hasGroup },
    sysctls: { refused: 'processes have the sysctls of the machine' },
  },
  Container: {
    ...each(
      done,
      'name command args workingDir envFrom env resizePolicy restartPolicy restartPolicyRules volumeDevices livenessProbe readinessProbe startupProbe lifecycle terminationMessagePath terminationMessagePolicy stdin stdinOnce',
    ),
    ...each(noImage, 'image imagePullPolicy'),
    ...each(done, 'ports volumeMounts securityContext'),
    resources: { ignored: 'limits are not enforced' },
    tty: { refused: 'processes have no terminal', unless: isFalse },
  },
  ContainerPort: {
    ...each(done, 'name containerPort protocol'),
    hostPort: {
      refused: 'a process has its own ports on the machine',
      unless: (port, _user, { containerPort }) => port === 0 || port === containerPort,
    },
    hostIP: {
      refused: 'a process chooses its own address',
      unless: (ip) => ['', '0.0.0.0', '::'].includes(ip),
    },
  },
  SecurityContext: {
    windowsOptions: done,
    capabilities: {
      refused: noSecurity,
      unless: ({ add, drop }) => [...(add ?? []), ...(drop ?? [])].length === 0,
    },
    privileged: { refused: otherUser, unless: (privileged, { uid }) => !privileged || uid === 0 },
    seLinuxOptions: { refused: noSecurity },
    runAsUser: { refused: otherUser, unless: (id, { uid }) => id === uid },
    runAsGroup: { refused: otherUser, unless: (id, { gid }) => id === gid },
    runAsNonRoot: { refused: 'the agent runs as root', unless: (value, { uid }) => !value || uid !== 0 },
    readOnlyRootFilesystem: { refused: 'processes have the file system of the machine', unless: isFalse },
    allowPrivilegeEscalation: { refused: noSecurity, unless: (value) => value },
    procMount: { ignored: 'processes have the /proc of the machine' },
    ...each(unconfined, 'seccompProfile appArmorProfile'),
  },
} satisfies { readonly [Struct in KubeType]?: Rows<Struct> };

/** Fields of a pod and its containers that ask for what a process of this user does not have, each with the reason. */
export function unsupportedFields(pod: Pod, containers: readonly Container[], user: ProcessUser): string[] {
  const spec = podSpecOf(pod);
  const { securityContext: podContext = {} } = spec;
  const volumes = firstBy(volumesOf(pod), 'name');
  const of = (table: keyof typeof processFields, object: object, prefix: string): string[] =>
    Object.entries<Row<never, never>>(processFields[table]).flatMap(([field, row]) => {
      const value: unknown = (object as Readonly<Record<string, unknown>>)[field];
      if (typeof row !== 'object' || !('refused' in row) || isUnset(value)) return [];
      return row.unless?.(value as never, user, object as never) === true ? [] : [`${prefix}${field}: ${row.refused}`];
    });
  const ofContainer = (container: Container): string[] => {
    const path = `container ${container.name}`;
    const { runAsUser, runAsGroup, runAsNonRoot, seccompProfile, seLinuxOptions } = podContext;
    const { securityContext, ports, volumeMounts } = container as KubeObject<'Container'>;
    const context = {
      ...{ runAsUser, runAsGroup, runAsNonRoot, seccompProfile, seLinuxOptions },
      ...Object.fromEntries(Object.entries(securityContext ?? {}).filter(([, value]) => !isUnset(value))),
      appArmorProfile: appArmorProfile(pod, container),
    };
    const unprotected = (volumeMounts ?? []).filter(({ name, readOnly }) => {
      const volume = volumes.get(name);
      return readOnly === true && volume !== undefined && !isReadOnlySource(volume);
    });
    return [
      ...of('Container', container, `${path}: `),
      ...(ports ?? []).flatMap((port, i) => of('ContainerPort', port, `${path}: ports[${i}].`)),
      ...of('SecurityContext', context, `${path}: securityContext.`),
      ...unprotected.map(({ name }) => `${path}: readOnly of volumeMount ${name}: processes can write the volume`),
    ];
  };
  return [
    ...of('PodSpec', spec, 'spec.'),
    ...of('PodSecurityContext', podContext, 'spec.securityContext.'),
    ...containers.flatMap(ofContainer),
  ];
}

/** True for values that the API server leaves out. */
function isUnset(value: unknown): boolean {
  return value === undefined || value === null || (Array.isArray(value) && value.length === 0);
}
