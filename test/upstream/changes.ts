import groupBy from 'lodash/groupBy.js';
import {
  featureGatesOf,
  functionsOf,
  isSameCode,
  protoOf,
  sourcesBelow,
  structsOf,
  testCasesOf,
  type Texts,
} from './go-source.ts';

/** The folders of one release's modules. */
export interface UpstreamRelease {
  /** k8s.io/kubernetes */
  readonly kubernetes: string;
  /** k8s.io/api */
  readonly api: string;
  /** k8s.io/cri-api */
  readonly criAPI: string;
}

/** What of Kubernetes has a counterpart here: name → where. */
export interface Ported {
  readonly functions: Texts;
  readonly testFunctions: Texts;
  readonly structs: Texts;
  readonly gates: Texts;
  readonly messages: Texts;
}

/** Something that differs between two releases. */
export interface Change {
  readonly kind: 'function' | 'test case' | 'field' | 'feature gate' | 'CRI message';
  /** `PodSpec.resources`, `TestSyncPod/pod is gone`. */
  readonly name: string;
  readonly change: 'new' | 'changed' | 'removed';
  /** Undefined if there is none yet. */
  readonly ours: string | undefined;
  /** What is now, of a feature gate, and of a field. */
  readonly now?: string | undefined;
  /** The test functions that name it, and that differ as well. */
  readonly tests: readonly string[];
}

const functionPaths = ['pkg/kubelet', 'pkg/probe', 'pkg/api/v1/pod'];
/** Of docs/parity.md, "Not included": functions there have the names of others. */
const notPorted =
  /pkg\/kubelet\/(?:apis|cadvisor|certificate\/bootstrap|checkpointmanager|clustertrustbundle|cm\/(?:admission|containermap|cpumanager|devicemanager|dra|memorymanager|resourceupdates|testing|topologymanager|util)|kubeletconfig|nodeshutdown|podcertificate|pluginmanager|podsapi|runtimeclass|server|stats|token|userns|util\/manager|volumemanager|watchdog|winstats)\//;

interface Sources {
  readonly files: Texts;
  readonly functions: Texts;
  readonly structs: ReadonlyMap<string, Texts>;
  readonly gates: Texts;
  readonly messages: ReadonlyMap<string, Texts>;
}

function read({ kubernetes, api, criAPI }: UpstreamRelease): Sources {
  const one = (folder: string, path: string): string => [...sourcesBelow(folder, path).values()].join('\n');
  const files = new Map(
    functionPaths.flatMap((path) => [...sourcesBelow(kubernetes, path)]).filter(([path]) => !notPorted.test(path)),
  );
  return {
    files,
    functions: functionsOf(files.values()),
    structs: structsOf(one(api, 'core/v1/types.go')),
    gates: featureGatesOf(one(kubernetes, 'pkg/features/kube_features.go')),
    messages: protoOf(one(criAPI, 'pkg/apis/runtime/v1/api.proto')),
  };
}

const isTest = (name: string): boolean => name.startsWith('Test');

/** What differs between two releases in what is ported. */
export function changesBetween(base: UpstreamRelease, target: UpstreamRelease, ported: Ported): Change[] {
  const before = read(base);
  const after = read(target);
  const functions = differences(before.functions, after.functions, isSameCode);
  const changedTests = [...functions].filter(([name]) => isTest(name)).map(([name]) => name);
  const testsNaming = (...names: readonly string[]): string[] => {
    // Not the `Run` of `t.Run`.
    const words = names.map((name) => new RegExp(`(?<!\\bt\\.)\\b${name}\\b`));
    const textOf = (test: string): string => after.functions.get(test) ?? before.functions.get(test) ?? '';
    return changedTests.filter((test) => words.every((word) => word.test(textOf(test))));
  };
  const changes: Change[] = [];
  for (const [name, change] of functions) {
    const ours = ported.functions.get(name);
    if (isTest(name) || ours === undefined) continue;
    changes.push({ kind: 'function', name, change, ours, tests: testsNaming(name) });
  }
  changes.push(...testChanges(before, after, functions, ported));
  const members = (
    kind: 'field' | 'CRI message',
    [old, current]: readonly [ReadonlyMap<string, Texts>, ReadonlyMap<string, Texts>],
    counterparts: Texts,
  ): void => {
    for (const [owner, ours] of counterparts)
      for (const [member, change] of differences(old.get(owner) ?? new Map(), current.get(owner) ?? new Map())) {
        const now = current.get(owner)?.get(member);
        changes.push({ kind, name: `${owner}.${member}`, change, ours, now, tests: testsNaming(owner, member) });
      }
  };
  members('field', [before.structs, after.structs], ported.structs);
  for (const [name, change] of differences(before.gates, after.gates)) {
    // A new gate of the kubelet has no counterpart yet.
    const isAsked = [...after.files].some(
      ([path, text]) => !path.endsWith('_test.go') && text.includes(`features.${name}`),
    );
    const ours = ported.gates.get(name);
    if (ours === undefined && !isAsked) continue;
    changes.push({ kind: 'feature gate', name, change, ours, now: after.gates.get(name), tests: testsNaming(name) });
  }
  members('CRI message', [before.messages, after.messages], ported.messages);
  return changes;
}

/** The cases of ported test functions, and the new test functions of their files. */
function testChanges(
  before: Sources,
  after: Sources,
  functions: ReadonlyMap<string, Change['change']>,
  ported: Ported,
): Change[] {
  const followed = [...after.files.values()].filter((text) =>
    [...ported.testFunctions.keys()].some((test) => text.includes(`func ${test}(`)),
  );
  const inFollowed = new Set(functionsOf(followed).keys());
  const changes: Change[] = [];
  for (const [test, change] of functions) {
    const ours = ported.testFunctions.get(test);
    if (!isTest(test) || (ours === undefined && !(change === 'new' && inFollowed.has(test)))) continue;
    const cases = differences(
      testCasesOf(before.functions.get(test) ?? ''),
      testCasesOf(after.functions.get(test) ?? ''),
    );
    const ofTest = { kind: 'test case', ours, tests: [] } as const;
    if (change !== 'changed' || cases.size === 0) changes.push({ ...ofTest, name: test, change });
    else
      for (const [name, caseChange] of cases) changes.push({ ...ofTest, name: `${test}/${name}`, change: caseChange });
  }
  return changes;
}

function differences(
  before: Texts,
  after: Texts,
  isSame: (text: string, other: string) => boolean = (text, other) => text === other,
): Map<string, Change['change']> {
  const changes = new Map<string, Change['change']>();
  for (const [name, text] of before) {
    const now = after.get(name);
    if (now === undefined) changes.set(name, 'removed');
    else if (!isSame(text, now)) changes.set(name, 'changed');
  }
  for (const name of after.keys()) if (!before.has(name)) changes.set(name, 'new');
  return changes;
}

/** More changes of one owner are one line: a renamed enum has hundreds. */
const maxLinesOfOwner = 10;

/** The lines of the report, without bullets. */
export function formatChanges(changes: readonly Change[]): string[] {
  const groups = groupBy(changes, ({ kind, name, change }) => `${kind} ${name.replace(/[./].*/, '')} ${change}`);
  return Object.values(groups).flatMap((group) => {
    if (group.length <= maxLinesOfOwner) return group.map((change) => formatChange(change));
    const [{ name, change, ours } = group[0]!] = group;
    const [owner = '', ...rest] = name.split(/[./]/);
    const first = [rest.join('.'), ...group.slice(1, 3).map((one) => one.name.slice(owner.length + 1))].join(', ');
    return [`${owner}: ${group.length} (${change}): ${first}, …; ${ours ?? 'no counterpart yet'}`];
  });
}

function formatChange({ kind, name, change, ours, now, tests }: Change): string {
  const parts = [`${name} (${change})`, ours ?? 'no counterpart yet'];
  if (now !== undefined) parts.push(`now: ${now}`);
  if (kind !== 'test case') {
    const names = tests.slice(0, 4).join(', ');
    const more = tests.length > 4 ? ` and ${tests.length - 4} more` : '';
    parts.push(tests.length === 0 ? 'no test that names it changed' : `tests that changed: ${names}${more}`);
  }
  return parts.join('; ');
}
