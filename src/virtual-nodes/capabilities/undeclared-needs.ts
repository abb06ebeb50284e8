import { podSpecOf } from '../../kube/objects/kube-object.ts';
import type { Probe, ValidPod } from '../../kube/objects/types.ts';
import { isRestartableInitContainer } from '../../status-manager/status/container-restart.ts';
import type { EventRecorder, PodAdmitHandler } from '../../node/index.ts';
import type { ProviderMethods } from '../calls/provider-calls.ts';
import type { ProviderCapabilities } from './provider-capabilities.ts';
import { virtualNodeFields, type VirtualNodeRow } from './virtual-node-fields.ts';

/** The maximum number of needs that a message names. */
const maxNamedNeeds = 8;

/** What the pod needs and the provider does not declare: `probes (spec.containers[0].livenessProbe)`. */
export function undeclaredNeeds(
  pod: ValidPod,
  capabilities: ProviderCapabilities,
  methods: ProviderMethods = {},
): string[] {
  const spec = podSpecOf(pod);
  const { initContainers, containers, volumes } = spec;
  const of = (table: keyof typeof virtualNodeFields, object: object, path: string): string[] =>
    Object.entries<VirtualNodeRow>(virtualNodeFields[table]).flatMap(([field, row]) => {
      if (!('needs' in row) || field === 'initContainers') return [];
      const value: unknown = (object as Readonly<Record<string, unknown>>)[field];
      if (value === undefined || value === null || value === false) return [];
      if (!declares(capabilities, row.needs, field)) return [`${row.needs} (${path}.${field})`];
      const needed = row.needs === 'probes' && capabilities.probes === 'node' ? methodsOfProbe(field, value) : [];
      return needed
        .filter((name) => methods[name] === undefined)
        .map((name) => `the method ${name} (${path}.${field})`);
    });
  const ofInitContainers = (initContainers ?? []).flatMap((container, i) => {
    const needed = isRestartableInitContainer(container) ? 'sidecars' : 'initContainers';
    return capabilities[needed] === true ? [] : [`${needed} (spec.initContainers[${i}])`];
  });
  return [
    ...of('PodSpec', spec, 'spec'),
    ...ofInitContainers,
    ...(initContainers ?? []).flatMap((container, i) => of('Container', container, `spec.initContainers[${i}]`)),
    ...(containers ?? []).flatMap((container, i) => of('Container', container, `spec.containers[${i}]`)),
    ...(volumes ?? []).flatMap((volume, i) => of('Volume', volume, `spec.volumes[${i}]`)),
  ];
}

/** The methods that the virtual node calls for a probe. */
function methodsOfProbe(field: string, { exec }: Probe): ('exec' | 'killContainer')[] {
  return [
    ...(exec == null ? [] : ['exec' as const]),
    ...(field === 'readinessProbe' ? [] : ['killContainer' as const]),
  ];
}

function declares(
  { volumes = [], restarts, ...others }: ProviderCapabilities,
  needed: keyof ProviderCapabilities,
  field: string,
): boolean {
  if (needed === 'volumes') return volumes.includes(field);
  return needed === 'restarts' ? restarts === 'provider' : Boolean(others[needed]);
}

export interface CapabilityAdmissionOptions {
  readonly capabilities: ProviderCapabilities;
  readonly methods: ProviderMethods;
  readonly undeclared: 'refuse' | 'warn';
  readonly eventRecorder: EventRecorder;
  /** True for a pod that an earlier process has started: it is not refused. */
  readonly hasRun: (pod: ValidPod) => boolean;
}

/** Refuses a pod that needs what the provider does not declare, or records an Event. */
export function capabilityAdmitHandler(options: CapabilityAdmissionOptions): PodAdmitHandler {
  const { capabilities, methods, undeclared, eventRecorder, hasRun } = options;
  return {
    admit: ({ pod, operation }) => {
      const needs = operation === 'add' ? undeclaredNeeds(pod, capabilities, methods) : [];
      if (needs.length === 0) return { admit: true };
      const more = needs.length > maxNamedNeeds ? `, and ${needs.length - maxNamedNeeds} more` : '';
      const message = `The provider does not declare ${needs.slice(0, maxNamedNeeds).join(', ')}${more}`;
      if (undeclared === 'refuse' && !hasRun(pod)) return { admit: false, reason: 'PodFeatureUnsupported', message };
      eventRecorder.event({ pod, type: 'Warning', reason: 'PodFeatureUnsupported', message });
      return { admit: true };
    },
  };
}
