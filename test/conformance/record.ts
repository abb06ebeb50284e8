import type { SpecResult } from './ginkgo-report.ts';
import type { SpecList } from './spec-list.ts';

/** What the list is made of. */
export const recordedFocus = [String.raw`\[sig-(node|storage)\]`];

/** What is not run at all: a pattern of names → why. */
export const recordedSkip: Readonly<Record<string, string>> = {
  'Feature:OffByDefault': 'The feature is off by default',
  'Provider:': 'It needs a cloud provider',
  DynamicResource: 'It needs drivers of devices',
  GPUDevicePlugin: 'It needs a GPU',
  HugePages: 'It needs huge pages',
  AppArmor: 'It needs a kernel with AppArmor',
  SELinux: 'It needs a kernel with SELinux',
  UserNamespace: 'It needs a runtime and file systems with ID-mapped mounts',
  CredentialProvider: 'It needs a registry and a credential provider',
  NodeProblemDetector: 'It needs the node problem detector',
  NodeLogQuery: 'It needs a node with systemd',
  ResourceUsageTracking: 'It measures the node for an hour',
  'private registry': 'Images cannot be pulled',
  Flaky: 'It is marked as unreliable',
  'API operations|lease API|PodTemplates|Node Lifecycle|garbage collector': 'It tests the control plane alone',
  'cap back-off': 'It takes an hour',
};

/** The list after a run of the kubelet: a spec that has ended is listed if it passed; others keep their places. */
export function updateSpecList(list: SpecList, allResults: readonly SpecResult[]): SpecList {
  const results = allResults.filter(({ state }) => state !== 'interrupted' && state !== 'timedout');
  const ran = new Set(results.map(({ name }) => name));
  const passed = new Map<string, string[]>();
  const add = (group: string, name: string): void => {
    passed.set(group, [...(passed.get(group) ?? []), name.slice(group.length + 1)]);
  };
  for (const [group, rests] of Object.entries(list.passes)) {
    for (const rest of rests) if (!ran.has(`${group} ${rest}`)) add(group, `${group} ${rest}`);
  }
  for (const { group, name, state } of results) if (state === 'passed') add(group, name);
  const passedNames = new Set(results.filter(({ state }) => state === 'passed').map(({ name }) => name));
  const failed = results
    .filter(({ name }) => !passedNames.has(name))
    .map(({ name, message }) => [name, list.kubeletFails[name] ?? message ?? ''] as const);
  return {
    ...list,
    passes: Object.fromEntries([...passed].sort(byKey).map(([group, rests]) => [group, rests.sort()])),
    kubeletFails: Object.fromEntries(
      [...Object.entries(list.kubeletFails).filter(([name]) => !ran.has(name)), ...failed].sort(byKey),
    ),
  };
}

function byKey([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
