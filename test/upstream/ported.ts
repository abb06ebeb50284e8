import { readFileSync } from 'node:fs';
import { criEnums, criMessages, criMethods } from '../../src/cri/cri-api.ts';
import { kubeTypes } from '../../src/kube/objects/kube-types.ts';
import type { Ported } from './changes.ts';

/** What has a counterpart, by test/parity/map.md, docs/internals/feature-gates.md and the generated tables. */
export function readPorted(): Ported {
  const functions = new Map<string, string>();
  const testFunctions = new Map<string, string>();
  for (const entry of entriesOf(readFileSync('test/parity/map.md', 'utf8'))) {
    const [, symbols = '', ours = ''] = /^- (.*?) (?:→|·) (.*)$/.exec(entry) ?? [];
    for (const [, symbol = ''] of symbols.matchAll(/`(\w+)`/g))
      if (symbol.startsWith('Test')) testFunctions.set(symbol, ours.replace(/:.*/, ''));
      else functions.set(symbol, ours);
  }
  const gates = readFileSync('docs/internals/feature-gates.md', 'utf8').matchAll(
    /^\| `(\w+)`\s*\|[^|]*\|[^|]*\| (.*?)\s*\|$/gm,
  );
  const services = Object.values(criMethods).map(([service]) => service);
  const named = (names: readonly string[], where: string): [string, string][] => names.map((name) => [name, where]);
  return {
    functions,
    testFunctions,
    structs: new Map(named(Object.keys(kubeTypes), '`src/kube/objects/kube-types.ts`, docs/internals/pod-spec.md')),
    gates: new Map(Array.from(gates, ([, name = '', ours = '']) => [name, `docs/internals/feature-gates.md: ${ours}`])),
    messages: new Map(
      named([...Object.keys(criEnums), ...Object.keys(criMessages), ...services], '`src/cri/cri-api.ts`'),
    ),
  };
}

/** The entries of the map, each in one line. */
function entriesOf(map: string): string[] {
  const lines = map.replaceAll(/\n {2}/g, ' ').split('\n');
  return lines.filter((line) => line.startsWith('- '));
}
