import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { allAccessParts, permissionsOf, resourceOf } from '../../src/kube/access/permissions.ts';
import { defaultOptions } from '../../src/status-manager/options.ts';
import {
  containerTypes,
  outcomeKinds,
  priorityBuckets,
  refusedUpdateReasons,
  requestOutcomes,
  requestVerbs,
  resizeResolutions,
  terminatingWaits,
  waitReasons,
} from '../../src/status-manager/metrics.ts';
import { createPrometheusMetrics } from '../../src/observe/prometheus.ts';
import { failureClassTable } from '../../src/status-manager/sync/failure-classes.ts';
import {
  type PodBackOff,
  type BackOffReason,
  nextBackOff,
  remainingWaitMs,
} from '../../src/status-manager/sync/back-off.ts';
import { hotLoopThreshold } from '../../src/status-manager/sync/hot-loops.ts';
import { fault } from '../../src/api-server/faults/fault.ts';
import { readRecords } from '../parity/trace.ts';
import { pastedBlocks } from '../stranger/pasted-blocks.ts';

const root = new URL('../../', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8');

/** All files below the folder, as paths from the root. */
function filesIn(folder: string, ending: string): string[] {
  return readdirSync(new URL(`${folder}/`, root), { recursive: true, encoding: 'utf8' })
    .map((path) => `${folder}/${path.replaceAll('\\', '/')}`)
    .filter((path) => path.endsWith(ending));
}

const documents = [
  'README.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  'SECURITY.md',
  ...filesIn('docs', '.md'),
  ...filesIn('examples', '.md'),
  'test/parity/map.md',
];
const parity = read('docs/parity.md');
const map = read('test/parity/map.md');

const { files: packed } = JSON.parse(read('package.json')) as { files: string[] };

/** Whether the package contains the file or folder, by `files` of package.json. */
function isPacked(path: string): boolean {
  const isIn = (folder: string): boolean => path === folder || path.startsWith(`${folder}/`);
  if (packed.some((entry) => entry.startsWith('!') && isIn(entry.slice(1)))) return false;
  return [...packed, 'README.md', 'LICENSE'].some(isIn);
}

/** Complete files that a document shows word for word; the compiler reads them, and most of them run. */
const examples = [
  ...['examples/testing', 'test/docs/guides'].flatMap((folder) => filesIn(folder, '.ts')),
  'examples/provider/provider.mjs',
  'examples/virtual-kubelet-provider/virtual-nodes.mjs',
].map(read);

/** As GitHub makes them of the headings. */
function anchorsOf(document: string): string[] {
  return [...read(document).matchAll(/^#+ (.*)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replaceAll(/[^\w\s-]/g, '')
      .replaceAll(' ', '-'),
  );
}

/** The cells of the table rows in `text`, without the padding. */
function rowsOf(text: string): string[][] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('|') && !/^\|[\s:|-]+\|$/.test(line))
    .map((line) => line.slice(1, line.lastIndexOf('|')).split('|'))
    .map((cells) => cells.map((cell) => cell.trim()));
}

/** The top-level items of the lists in `text`, each on one line. */
function itemsOf(text: string): string[] {
  return [...text.matchAll(/^- (.*(?:\n {2,}\S.*)*)/gm)].map(([, item]) => item!.replaceAll(/\n +/g, ' '));
}

/** `name: text` of each item. */
function entriesOf(text: string): [name: string, text: string][] {
  return itemsOf(text).map((item) => {
    const [, name, rest] = /^(.*?): (.*)$/.exec(item)!;
    return [name!, rest!];
  });
}

function section(document: string, heading: string): string {
  const [, text] = document.split(new RegExp(`^## ${heading}$`, 'm'));
  return text?.split(/^## /m)[0] ?? '';
}

/** Each imported name with the module it is from. */
function importsOf(code: string): string[] {
  const imports = [...code.matchAll(/^import \{ (.*) \} from '(.*)';$/gm)];
  return imports.flatMap(([, names, from]) => names!.split(', ').map((name) => `${name} from ${from}`));
}

/** What is no import, without indentation. */
function codeOf(code: string): string {
  return code
    .replaceAll(/^import .*\n/gm, '')
    .replaceAll(/^ +/gm, '')
    .trim();
}

describe('every document', () => {
  it.each(documents)('%s links to files that exist', (document) => {
    const links = [...read(document).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target]) => target!);
    const missing = links
      .filter((target) => !/^(https?:|#)/.test(target))
      .filter((target) => !existsSync(new URL(target.split('#')[0]!, new URL(document, root))));
    expect(missing).toEqual([]);
  });

  it.each(documents)('%s names source and test files that exist', (document) => {
    const paths = [...read(document).matchAll(/`((?:src|test|bench|examples)\/[^`\s*…]+)`/g)].map(([, path]) => path!);
    expect(paths.filter((path) => !existsSync(new URL(path, root)))).toEqual([]);
  });

  it.each(documents.filter(isPacked))(
    '%s links only to files that the package contains, except for pictures',
    (path) => {
      const links = [...read(path).matchAll(/(?<!!\[[^\]]*)\]\(([^)\s#]+)/g)].map(([, target]) => target!);
      const outside = links
        .filter((target) => !/^https?:/.test(target))
        .map((target) => new URL(target, new URL(path, root)).pathname.slice(root.pathname.length))
        .filter((target) => !isPacked(target));
      expect(outside).toEqual([]);
    },
  );

  it.each(documents)('%s links to headings that exist', (document) => {
    const links = [...read(document).matchAll(/\]\(([^)\s#:]*)#([^)]+)\)/g)];
    const missing = links.filter(([, target, anchor]) => {
      const linked =
        target === '' ? document : new URL(target!, new URL(document, root)).pathname.slice(root.pathname.length);
      return linked.endsWith('.md') && !anchorsOf(linked).includes(anchor!);
    });
    expect(missing.map(([link]) => link)).toEqual([]);
  });

  it.each(documents)('%s shows TypeScript that compiles', (document) => {
    const snippets = read('test/docs/snippets.test-d.ts');
    const blocks = [...read(document).matchAll(/^```ts\n([\s\S]*?)^```$/gm)]
      .map(([, block]) => block!)
      .filter((block) => !examples.includes(block));
    const missing = blocks.flatMap((block) => [
      ...importsOf(block).filter((one) => !importsOf(snippets).includes(one)),
      ...[codeOf(block)].filter((code) => !codeOf(snippets).includes(code)),
    ]);
    expect(missing).toEqual([]);
  });

  it.each(documents)('%s names scripts that package.json has', (document) => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    const named = [...read(document).matchAll(/npm run ([\w:-]+)/g)].map(([, script]) => script!);
    expect(named.filter((script) => !Object.hasOwn(scripts, script))).toEqual([]);
  });
});

it('the documents in the package have at most 15,000 words outside of code', () => {
  const words = documents.filter(isPacked).flatMap((document) => {
    const text = read(document).replaceAll(/```[^]*?```/g, '');
    return text.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word));
  });
  expect(words.length).toBeLessThanOrEqual(15_000);
});

describe('README.md', () => {
  const readme = read('README.md');

  it('has a first program that is the one of the provider guide', () => {
    expect(readme).toContain('(examples/provider/provider.mjs)');
    expect(pastedBlocks(read('docs/guides/provider.md'))).toContainEqual({
      kind: 'file',
      name: 'provider.mjs',
      code: read('examples/provider/provider.mjs'),
    });
  });

  it('leads to the program of the guide to virtual nodes', () => {
    expect(readme).toContain('(docs/guides/virtual-nodes.md)');
    expect(pastedBlocks(read('docs/guides/virtual-nodes.md'))).toContainEqual({
      kind: 'file',
      name: 'virtual-nodes.mjs',
      code: read('examples/virtual-kubelet-provider/virtual-nodes.mjs'),
    });
  });

  it('has at most 600 words', () => {
    expect(readme.trim().split(/\s+/).length).toBeLessThanOrEqual(600);
  });

  it('has as many recorded steps and pod statuses as the files that it names', async () => {
    let steps = 0;
    let rows = 0;
    for (const [file] of readme.matchAll(/test\/parity\/testdata\/[\w.-]+/g)) {
      for await (const record of readRecords<{ steps?: unknown[] }>(fileURLToPath(new URL(file, root)))) {
        if (record.steps === undefined) rows++;
        else steps += record.steps.length;
      }
    }
    expect(readme).toContain(`${steps.toLocaleString('en-US')} steps and ${rows} pod statuses`);
  });

  it('quotes a sentence of explain() that its tests have', () => {
    const quote = [...readme.matchAll(/^> (.*)$/gm)].map(([, line]) => line).join(' ');
    expect(read('test/status-manager/explain.test.ts')).toContain(`'${quote}'`);
  });
});

describe('docs/internals/performance.md', () => {
  it('shows ratios of bench/results.md', () => {
    // The section on virtual nodes has a command of its own.
    const [text = ''] = read('docs/internals/performance.md').split('\n## ');
    const [, ...rows] = rowsOf(text);
    const measured = rowsOf(read('bench/results.md')).map(([name, , , , ratio]) => `${name}: ${ratio}`);
    expect(rows.length).toBeGreaterThan(5);
    expect(rows.map(([name, ratio]) => `${name}: ${ratio}`).filter((row) => !measured.includes(row))).toEqual([]);
  });
});

describe('the options in docs/guides/production.md', () => {
  const entries = entriesOf(section(read('docs/guides/production.md'), 'Options'));
  const defaultOf = new Map(
    entries.flatMap(([names, fallback]) =>
      [...names.matchAll(/`(\w+)`/g)].map(([, name]) => [name!, fallback] as const),
    ),
  );

  it('lists every option, and no other', () => {
    const [, fields] = /export type StatusManagerOptions\b.* \{\n([\s\S]*?)\n\}/.exec(
      read('src/status-manager/options.ts'),
    )!;
    const options = [...fields!.matchAll(/^ {2}readonly (\w+)\??:/gm)].map(([, name]) => name!);
    expect(options.length).toBeGreaterThan(10);
    expect([...defaultOf.keys()].sort()).toEqual(options.sort());
  });

  it.each(Object.entries(defaultOptions))('shows the default of `%s`', (name, value) => {
    const shown = defaultOf.get(name);
    expect(shown).toBe(typeof value === 'number' ? value.toLocaleString('en-US') : `\`'${value}'\``);
  });
});

it('examples/production/daemonset.yaml has the paths and the directory of docs/guides/production.md', () => {
  const text = read('examples/production/daemonset.yaml');
  expect(parse(text)).toMatchObject({ kind: 'DaemonSet' });
  const guide = read('docs/guides/production.md');
  const named = ['/healthz', '/readyz', '9090', '/var/lib/node-agent'];
  expect(named.filter((name) => !text.includes(name) || !guide.includes(name))).toEqual([]);
});

describe('the permissions in docs/guides/production.md', () => {
  it('are those that checkAccess checks, by part', () => {
    const text = section(read('docs/guides/production.md'), 'Permissions').split('\n### ')[0]!;
    const shown = entriesOf(text).flatMap(([part, granted]) =>
      granted.split('; ').flatMap((one) => {
        const [, verbs, resource] = /^(.*) (\S+)$/.exec(one)!;
        return verbs!.split(', ').map((verb) => `${part.replaceAll('`', '')}: ${verb} ${resource}`);
      }),
    );
    const checked = allAccessParts.flatMap((name) =>
      permissionsOf([name], 'node-a').map((permission) => `${name}: ${permission.verb} ${resourceOf(permission)}`),
    );
    expect(shown.toSorted()).toEqual(checked.toSorted());
  });
});

describe('docs/monitoring.md', () => {
  it('lists every metric with its kind and labels, and no other', async () => {
    const register = new Registry();
    createPrometheusMetrics({ register });
    const metrics = await register.getMetricsAsJSON();
    const labelsOf = (name: string): string[] =>
      (register.getSingleMetric(name) as unknown as { labelNames: string[] }).labelNames;
    const document = read('docs/monitoring.md');
    const headings = ['Metrics of the kubelet', 'Metrics of this library', 'Metrics of an agent'];
    const lists = headings.map((heading) => section(document, heading));
    expect(entriesOf(lists.join('\n')).map(([name]) => name)).toEqual(
      metrics.map(({ name, type }) => {
        const labels = labelsOf(name).map((label) => `\`${label}\``);
        return `\`${name}\` (${[String(type), ...(labels.length > 0 ? [`labels ${labels.join(', ')}`] : [])].join('; ')})`;
      }),
    );
  });
});

describe('docs/monitoring.md, label values', () => {
  it.each<[string, readonly string[]]>([
    ['`container_type`', containerTypes],
    ['`priority_bucket`', priorityBuckets],
    ['`resolution`', resizeResolutions],
    ['`verb`', requestVerbs],
    ['`outcome` of requests', requestOutcomes],
    ['`outcome` of versions', outcomeKinds],
    ['`reason` of waiting pods', waitReasons],
    ['`waiting_for`', terminatingWaits],
    ['`reason` of refused updates', refusedUpdateReasons],
  ])('%s has the values of the code', (label, values) => {
    const [, shown] = entriesOf(section(read('docs/monitoring.md'), 'Label values')).find(([name]) => name === label)!;
    expect([...shown.matchAll(/`([\w-]+)`/g)].map(([, value]) => value)).toEqual(values);
  });
});

describe('CONTRIBUTING.md', () => {
  it('names every environment variable of the tests', () => {
    const used = filesIn('test', '.ts').flatMap((path) => [
      ...read(path).matchAll(/process\.env\['((?:KUBEBUILDER|CLIENT_NODE)\w*)'\]/g),
    ]);
    const missing = used.filter(([, name]) => !read('CONTRIBUTING.md').includes(`\`${name}\``));
    expect(missing.map(([, name]) => name)).toEqual([]);
  });
});

describe('docs/testing.md', () => {
  it('links every example of examples/testing', () => {
    const text = read('docs/testing.md');
    const files = filesIn('examples/testing', '.ts');
    expect(files.filter((path) => !text.includes(`(../${path})`))).toEqual([]);
  });

  it('names every fault', () => {
    const named = [...section(read('docs/testing.md'), 'Faults').matchAll(/^- `fault\.(\w+)\(/gm)];
    expect(new Set(named.map(([, name]) => name))).toEqual(new Set(Object.keys(fault)));
  });

  const nodeTest = new URL('dist/examples/testing/with-node-test.js', root);
  it.skipIf(!existsSync(nodeTest))('links a test that node:test passes (skipped before `npm run build`)', () => {
    const { NODE_TEST_CONTEXT: _context, ...env } = process.env;
    const options = { encoding: 'utf8', env, timeout: 60_000 } as const;
    const run = spawnSync(process.execPath, ['--test', fileURLToPath(nodeTest)], options);
    expect(run.stdout).toMatch(/^# pass 1$/m);
    expect(run.status).toBe(0);
  });
});

describe('docs/internals/testing.md', () => {
  const named = [...read('docs/internals/testing.md').matchAll(/\| `(test\/\S+\.test\.ts)`: (.*?) +\|$/gm)];

  it.each(named.map(([, file, title]) => [title!, file!]))('names a test that exists: %s, in %s', (title, file) => {
    const source = read(file);
    expect(["'", '"', '`'].some((quote) => source.includes(`${quote}${title}${quote}`))).toBe(true);
  });
});

describe('docs/parity.md', () => {
  it('names the file of every mark `Divergence:`, and no file without one', () => {
    const marked = filesIn('src', '.ts').filter((path) => /Divergence[:,]/.test(read(path)));
    const deliberate = section(parity, 'Deliberate differences');
    const linked = [...deliberate.matchAll(/`(src\/[^`]+\.ts)`/g)].map(([, path]) => path!);
    expect([...new Set(linked)].sort()).toEqual(marked.sort());
  });

  it('names files where the symbols of ours are', () => {
    const rows = itemsOf(section(map, 'Symbols'))
      .map((item) => item.split(' → ')[1]!.split(' · '))
      .filter(([, files]) => files?.startsWith('`src/'));
    expect(rows.length).toBeGreaterThan(60);
    const missing = rows.flatMap(([ours, files]) => {
      const text = [...files!.matchAll(/`(src\/[^`]+)`/g)].map(([, path]) => read(path!)).join('\n');
      const symbols = [...ours!.matchAll(/`(?:\w+\.)?(\w+)`/g)].map(([, symbol]) => symbol!);
      return symbols.filter((symbol) => !new RegExp(`\\b${symbol}\\b`).test(text) && !sourceHas(symbol));
    });
    expect(missing).toEqual([]);
  });

  const tests = itemsOf(section(map, 'Tests'))
    .filter((item) => item.startsWith('`Test'))
    .map((item) => /^(`\w+`) · (`[^`]+`)(?:: (.*))?$/.exec(item)!)
    .map(([, name, file, cases]) => [name!, file!, cases?.split(' · ') ?? []] as const);

  it('has as many test functions of upstream as README.md says', () => {
    const [, count] = /(\d+) test functions of the Go code/.exec(read('README.md'))!;
    expect(tests).toHaveLength(Number(count));
  });

  it.each(tests)('%s is, with its cases, in %s', (name, file, cases) => {
    const text = read(file.replaceAll('`', '')).replaceAll("\\'", "'").replaceAll(/ +/g, ' ');
    expect(text).toMatch(new RegExp(`['\`]${name.replaceAll('`', '')}\\b`));
    expect(cases.filter((one) => !text.includes(one))).toEqual([]);
  });

  const hour = rowsOf(section(parity, 'Requests in an hour of failures'))
    .slice(1)
    .map(([reason, cause, , tries, wait]) => [reason!, cause!, tries!, wait!] as const);

  it.each(hour)('%s has its tries an hour as the back-off gives them', (reason, cause, tries, wait) => {
    const [kind, isShown] = /^`([\w-]+)`(, pod shown)?$/.exec(reason)!.slice(1) as [BackOffReason, string | undefined];
    const most = triesInAnHour(kind, isShown !== undefined, 1 - Number.EPSILON);
    const least = triesInAnHour(kind, isShown !== undefined, 0);
    expect(tries).toBe(least === most ? String(least) : `${least}–${most}`);
    expect(wait).toBe(waitOfNewVersion(kind, isShown !== undefined));
    if (kind !== 'hot-loop') expect(cause).toBe(failureClassTable[kind].description);
  });

  it('has every class that is put off', () => {
    const names = Object.entries(failureClassTable).flatMap(([name, { backOff }]) => [
      `\`${name}\``,
      ...(backOff.whenShown ? [`\`${name}\`, pod shown`] : []),
    ]);
    expect(hour.map(([reason]) => reason)).toEqual([...names, '`hot-loop`']);
  });
});

function sourceHas(symbol: string): boolean {
  return ['src/status-manager/status-manager.ts', 'src/status-manager/index.ts', 'src/kube/informer/index.ts'].some(
    (path) => new RegExp(`\\b${symbol}\\b`).test(read(path)),
  );
}

/** Of a pod whose requests fail now and at each later try. */
function triesInAnHour(reason: BackOffReason, isShown: boolean, jitter: number): number {
  let entry: PodBackOff | undefined;
  // Only full batches try a hot loop, which is noticed at the third of three.
  const [stepMs, first] = reason === 'hot-loop' ? [defaultOptions.syncPeriodMs, hotLoopThreshold - 1] : [1, 0];
  let tries = first;
  for (let nowMs = first * stepMs; nowMs <= 3_600_000; tries++) {
    entry = nextBackOff(entry, { reason, version: 1, message: '', isShown }, nowMs, () => jitter);
    nowMs = reason === 'hot-loop' ? Math.ceil(entry.dueMs / stepMs) * stepMs : entry.dueMs;
  }
  return tries;
}

function waitOfNewVersion(reason: BackOffReason, isShown: boolean): string {
  let entry: PodBackOff | undefined;
  for (let i = 0; i < 10; i++) entry = nextBackOff(entry, { reason, version: 1, message: '', isShown }, 0, () => 0);
  const waitMs = remainingWaitMs(entry, 2, 0);
  return waitMs === remainingWaitMs(entry, 1, 0) ? 'as long' : waitMs === 0 ? 'not at all' : `${waitMs / 1_000} s`;
}
