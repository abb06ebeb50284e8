import { Agent, request, type Dispatcher } from 'undici';
import { pathToFileURL } from 'node:url';
import { resolve } from 'node:path';
import type { APIServer } from '../../src/testing/index.ts';

/*
 * How fast the in-memory APIServer is: 1,000 pods under 100 watches.
 *
 *   node dist/bench/api-server/worker.js DIST [OTHER_DIST]
 *
 * Each argument is a folder with the output of `npm run build`. With two, they take turns in one process, and the
 * last line is the ratio of their medians, the first to the second.
 */

const PODS = 1_000;
const WATCHES = 100;
const ROUNDS = 5;
const IN_FLIGHT = 16;
const path = '/api/v1/namespaces/default/pods';

interface Testing {
  readonly APIServer: typeof APIServer;
}

interface Figures {
  readonly createPerSecond: number;
  readonly patchPerSecond: number;
  readonly listMs: number;
}

async function measure({ APIServer }: Testing): Promise<Figures> {
  await using server = await APIServer.start({ tls: false });
  const agent = new Agent({ connections: IN_FLIGHT + WATCHES, bodyTimeout: 0 });
  const send = async (
    method: Dispatcher.HttpMethod,
    url: string,
    body?: object,
    contentType = 'application/json',
  ): Promise<void> => {
    const response = await request(server.url + url, {
      method,
      dispatcher: agent,
      headers: { authorization: `Bearer ${server.token}`, 'content-type': contentType },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    await response.body.dump({ limit: Infinity });
    if (response.statusCode >= 300) throw new Error(`${method} ${url}: ${response.statusCode}`);
  };
  for (let i = 0; i < WATCHES; i++) {
    const { body } = await request(`${server.url}${path}?watch=1`, {
      dispatcher: agent,
      headers: { authorization: `Bearer ${server.token}` },
    });
    body.on('data', () => {}).on('error', () => {});
  }
  const createMs = await each(PODS, (i) => send('POST', path, podOf(i)));
  const patchMs = await each(PODS, (i) =>
    send('PATCH', `${path}/pod-${i}/status`, { status: statusOf(i) }, 'application/strategic-merge-patch+json'),
  );
  const start = performance.now();
  await send('GET', path);
  const listMs = performance.now() - start;
  await agent.destroy();
  return { createPerSecond: (PODS / createMs) * 1000, patchPerSecond: (PODS / patchMs) * 1000, listMs };
}

/** Calls with 0 to count-1, a few at a time. Resolves with the duration in milliseconds. */
async function each(count: number, call: (i: number) => Promise<void>): Promise<number> {
  const start = performance.now();
  let next = 0;
  const lane = async () => {
    while (next < count) await call(next++);
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, lane));
  return performance.now() - start;
}

function podOf(i: number): object {
  return {
    metadata: { name: `pod-${i}`, labels: { app: 'bench' } },
    spec: {
      nodeName: 'node-a',
      containers: [
        { name: 'a', image: 'busybox:1' },
        { name: 'b', image: 'busybox:1' },
      ],
    },
  };
}

function statusOf(i: number): object {
  const status = (name: string) => ({
    ...{ name, ready: true, restartCount: i % 3, image: 'busybox:1', imageID: '' },
    state: { running: { startedAt: '2026-01-01T00:00:00Z' } },
  });
  const condition = (type: string) => ({ type, status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' });
  return {
    phase: 'Running',
    podIP: `10.0.${i >> 8}.${i & 255}`,
    conditions: ['PodScheduled', 'Initialized', 'ContainersReady', 'Ready'].map(condition),
    containerStatuses: [status('a'), status('b')],
  };
}

const folders = process.argv.slice(2);
if (folders.length === 0) throw new Error('Expected one or two folders with the output of `npm run build`');
const contestants = await Promise.all(
  folders.map(async (folder) => {
    const url = pathToFileURL(resolve(folder, 'src/testing/index.js')).href;
    return { folder, testing: (await import(url)) as Testing, figures: [] as Figures[] };
  }),
);
for (let round = 0; round <= ROUNDS; round++) {
  for (const { testing, figures } of contestants) {
    const measured = await measure(testing);
    // The first round warms up.
    if (round > 0) figures.push(measured);
  }
}
const medians = contestants.map(({ folder, figures }) => {
  const median = (field: keyof Figures) => figures.map((one) => one[field]).sort((a, b) => a - b)[ROUNDS >> 1]!;
  const result = { create: median('createPerSecond'), patch: median('patchPerSecond'), listMs: median('listMs') };
  print(
    `${folder}: ${result.create.toFixed(0)} creates/s, ${result.patch.toFixed(0)} status patches/s, list ${result.listMs.toFixed(1)} ms`,
  );
  return result;
});
const [first, second] = medians;
if (first !== undefined && second !== undefined) {
  const ratio = (a: number, b: number) => (a / b).toFixed(2);
  print(
    `ratio: creates ${ratio(first.create, second.create)}, status patches ${ratio(first.patch, second.patch)}, list time ${ratio(first.listMs, second.listMs)}`,
  );
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
