import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import sumBy from 'lodash/sumBy.js';
import { alignColumns } from '../report.ts';

/** The part of a .cpuprofile that is read here. */
interface Profile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
  }[];
  readonly samples: readonly number[];
  /** Microseconds before each sample. */
  readonly timeDeltas: readonly number[];
}

/** The first pattern that matches the module, or for native code the name of the function, gives the area. */
const areas: readonly (readonly [string, RegExp])[] = [
  ['garbage collection', /^\(garbage collector\)$/],
  ['JSON', /^(?:parse|stringify|JSON)$|src\/shared\/json|response-body/],
  ['undici', /node_modules\/undici/],
  ['status: generate, compare, patch', /src\/status-manager\/status\//],
  ['status manager: cache, queue, sync', /src\/status-manager\//],
  ['API client and informer', /src\/kube\/(?:client|http|informer)\//],
  ['pod workers, sync loop, Node, Lease', /src\/(?:node|kube)\//],
  ['provider calls and records', /src\/virtual-nodes\//],
  ['metrics', /src\/observe|prom-client|prometheus/],
  ['logging', /pino|src\/shared\/(?:logger|failure-log)/],
  ['clock, deadlines, other shared code', /src\/shared\/|node_modules\//],
  ['the cloud of the benchmark', /bench\//],
  ['loading and compiling modules', /^node:internal\/modules|^node:vm|^(?:compileFunction|compileSourceTextModule)/],
  ['Node.js: sockets, TLS, HTTP/2, streams', /^node:|worker\.mjs/],
  ['native code and the kernel', /./],
];

/** `dispatch` is the profiler's own work when it begins. */
const notCounted = new Set(['(idle)', 'dispatch']);

/**
 * The CPU time of the profiles of a contestant, by area and by what it did, as a table.
 * @param bundle the program, in which a comment with its path precedes each module
 */
export function profileTable(folder: string, contestant: string, bundle: string): string {
  const moduleOf = moduleFinder(bundle);
  const profiles = readdirSync(folder)
    .filter((name) => name.startsWith(`${contestant}-`) && name.endsWith('.cpuprofile'))
    .map((name) => ({ name, byArea: msByArea(JSON.parse(readFileSync(join(folder, name), 'utf8')), moduleOf) }));
  const total = (byArea: ReadonlyMap<string, number>): number => sumBy([...byArea.values()]);
  const percent = (byArea: ReadonlyMap<string, number>, area: string): string =>
    `${((100 * (byArea.get(area) ?? 0)) / total(byArea)).toFixed(0)} %`;
  return alignColumns([
    ['', ...profiles.map(({ name }) => name.replace('.cpuprofile', ''))],
    ...areas.map(([area]) => [area, ...profiles.map(({ byArea }) => percent(byArea, area))]),
    ['CPU time', ...profiles.map(({ byArea }) => `${total(byArea).toFixed(0)} ms`)],
  ]);
}

function msByArea({ nodes, samples, timeDeltas }: Profile, moduleOf: (line: number) => string): Map<string, number> {
  const areaOfNode = new Map(
    nodes.map(({ id, callFrame: { functionName, url, lineNumber } }) => {
      const code = url.startsWith('node:') ? url : url === '' ? functionName : moduleOf(lineNumber);
      return [id, notCounted.has(code) ? undefined : areas.find(([, pattern]) => pattern.test(code))?.[0]];
    }),
  );
  const byArea = new Map<string, number>();
  for (const [i, id] of samples.entries()) {
    const area = areaOfNode.get(id);
    if (area !== undefined) byArea.set(area, (byArea.get(area) ?? 0) + timeDeltas[i]! / 1000);
  }
  return byArea;
}

/** The module that has a line of the bundle, counted from 0. */
function moduleFinder(bundle: string): (line: number) => string {
  let module = 'bundle';
  const modules = bundle.split('\n').map((line) => (module = /^\/\/ (\S+\.[cm]?js)$/.exec(line)?.[1] ?? module));
  return (line) => modules[line] ?? module;
}
