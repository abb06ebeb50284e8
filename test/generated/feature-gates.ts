import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The stage of a feature gate in a release, and whether it is on by default. */
type FeatureGate = readonly [stage: string, isOn: boolean];

/** The folders of k8s.io/kubernetes that a kubelet consists of. */
const kubeletFolders = ['cmd/kubelet', 'pkg/kubelet', 'pkg/volume', 'pkg/probe', 'pkg/credentialprovider'];

/**
 * The text of feature-gates.json: the gates that the kubelet's code asks for, and those of its component-base.
 *
 * @param kubernetes the folder of k8s.io/kubernetes
 * @param componentBase the folder of k8s.io/component-base
 * @param minor of the release, `37`
 */
export function generateFeatureGates(kubernetes: string, componentBase: string, minor: number): string {
  const ownGates = ['logs/api/v1', 'metrics/features', 'zpages/features']
    .map((folder) => readFileSync(join(componentBase, folder, 'kube_features.go'), 'utf8'))
    .flatMap((source) => parseFeatureGates(source, minor));
  const gates = new Map([
    ...parseFeatureGates(readFileSync(join(kubernetes, 'pkg/features/kube_features.go'), 'utf8'), minor),
    ...ownGates,
  ]);
  const used = new Set(ownGates.map(([name]) => name));
  for (const folder of kubeletFolders)
    for (const source of goSources(join(kubernetes, folder)))
      for (const [, name = ''] of source.matchAll(/\b\w*features\.([A-Z]\w*)/g)) if (gates.has(name)) used.add(name);
  const lines = [...used].toSorted().map((name) => `  ${JSON.stringify(name)}: ${line(gates.get(name)!)}`);
  return `{\n${lines.join(',\n')}\n}\n`;
}

const line = ([stage, isOn]: FeatureGate): string => `[${JSON.stringify(stage)}, ${isOn}]`;

/** `Name: { {Version: version.MustParse("1.2"), Default: true, PreRelease: featuregate.Beta}, … }`, the newest that counts. */
function parseFeatureGates(source: string, minor: number): [string, FeatureGate][] {
  return [...source.matchAll(/^\t+(\w+): \{\n((?:\t+(?:\{|\/\/).*\n)+)/gm)].flatMap(([, name = '', body = '']) => {
    const entry = /MustParse\("1\.(\d+)"\), Default: (true|false), PreRelease: (?:featuregate\.)?(\w+)/g;
    const versions = [...body.matchAll(entry)].filter(([, since]) => Number(since) <= minor);
    const [, , isOn, stage = ''] = versions.at(-1) ?? [];
    return isOn === undefined ? [] : [[name, [stage, isOn === 'true']] satisfies [string, FeatureGate]];
  });
}

function* goSources(folder: string): Generator<string> {
  for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true })) {
    const isSource = entry.isFile() && entry.name.endsWith('.go') && !entry.name.endsWith('_test.go');
    if (isSource) yield readFileSync(join(entry.parentPath, entry.name), 'utf8');
  }
}
