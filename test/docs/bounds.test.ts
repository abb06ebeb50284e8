import { readFileSync } from 'node:fs';
import { runInNewContext } from 'node:vm';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { repository } from '../support/repository.ts';

const read = (path: string): string => readFileSync(join(repository, path), 'utf8');

const [, denialOfService = ''] = read('docs/security.md').split('\n## Denial of service\n');
/** The bounds of each peer, as docs/security.md shows them. */
const table = new Map(
  denialOfService
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .slice(2)
    .map((line) => line.split('|').map((cell) => cell.trim()))
    .map(([, peer, memory, rate]) => [peer!, `${memory}; ${rate}`]),
);

/** The text of a bound, its value, and the file below src and the constant that hold it. */
type Bound = readonly [text: string, value: number, file: string, constant: string];

const [second, KiB, MiB, GiB] = [1000, 2 ** 10, 2 ** 20, 2 ** 30];
const bounds: Readonly<Record<string, readonly Bound[]>> = {
  'API server: a response': [
    ['256 MiB', 256 * MiB, 'kube/client/response-body.ts', 'defaultMaxResponseBytes'],
    ['16 MiB of a pod', 16 * MiB, 'kube/client/response-body.ts', 'maxPodBytes'],
    ['64 KiB of an error', 64 * KiB, 'kube/client/response-body.ts', 'maxErrorBytes'],
    ['1,000 levels', 1000, 'kube/client/response-body.ts', 'maxJSONDepth'],
    ['1,000 causes', 1000, 'kube/client/api-error.ts', 'maxCauses'],
  ],
  'API server: a list': [
    ['1,000 pages', 1000, 'kube/informer/object-list.ts', 'MAX_PAGES'],
    ['500 objects', 500, 'kube/informer/object-list.ts', 'PAGE_SIZE'],
    ['30 s', 30 * second, 'kube/informer/reflector.ts', 'BACK_OFF.maxMs'],
  ],
  'API server: a watch': [['16 MiB an event', 16 * MiB, 'kube/informer/watch-events.ts', 'MAX_EVENT_BYTES']],
  'A provider or runtime': [
    ['2,000,000 values', 2_000_000, 'shared/plain-data.ts', 'maxValues'],
    ['64 Mi characters', 64 * MiB, 'shared/plain-data.ts', 'maxTextLength'],
    ['1,000,000 pods', 1_000_000, 'virtual-nodes/calls/require-provider-pods.ts', 'maxPods'],
    ['20,000 values', 20_000, 'virtual-nodes/calls/require-provider-pods.ts', 'maxValues'],
    ['a list a second', second, 'virtual-nodes/calls/provider-pod-lister.ts', 'minPeriodMs'],
  ],
  'A `PodSource`': [['10,000 pods', 10_000, 'node/config/pod-config.ts', 'maxSourcePods']],
  'CRI runtime': [
    ['16 MiB a message', 16 * MiB, 'cri/cri-client.ts', 'maxMessageBytes'],
    ['a relist a second', second, 'agent/pleg/generic-pleg.ts', 'relistPeriodMs'],
  ],
  'Pods: probes and hooks': [
    ['10 KiB of a response', 10 * KiB, 'node/prober/exec-probe.ts', 'maxOutputLength'],
    ['10 KiB of a response', 10 * KiB, 'agent/pod-syncer/handler-runner.ts', 'maxResponseBytes'],
    ['10 redirects', 10, 'node/prober/http-client.ts', 'maxRedirects'],
  ],
  'Pods: files': [
    ['1 MiB of a file of variables', MiB, 'node/container-options/make-environment.ts', 'maxFileBytes'],
    ['4 KiB of a termination message', 4 * KiB, 'cri/runtime-pod-files.ts', 'maxMessageBytes'],
    ['100,000 folders side by side', 100_000, 'node/host-paths/walk.ts', 'maxPendingDirectories'],
    ['two pods', 2, 'agent/volumes/volume-stat-calculator.ts', 'concurrency'],
    ['a tenth of the time', 10 - 1, 'agent/volumes/volume-stat-calculator.ts', 'restFactor'],
  ],
  'Pods: variables': [['8 Mi characters', 8 * MiB, 'node/container-options/expansion-limit.ts', 'maxCharacters']],
  'Clients of port 10250': [
    ['512 connections', 512, 'kubelet-api/serve-kubelet-api.ts', 'maxConnections'],
    ['2,048 authorized requests', 2048, 'kubelet-api/serve-kubelet-api.ts', 'maxRequests'],
    ['8 reviews', 8, 'kubelet-api/review.ts', 'maxInFlight'],
    ['72 wait', 72, 'kubelet-api/review.ts', 'maxPending'],
  ],
  'An SPDY connection': [
    ['1,024 streams', 1024, 'kubelet-api/spdy.ts', 'maxStreams'],
    ['1 MiB a frame', MiB, 'kubelet-api/spdy.ts', 'maxDataBytes'],
    ['2,048 replies', 2048, 'kubelet-api/spdy.ts', 'maxUnsentReplies'],
    ['64 MiB in all', 64 * MiB, 'kubelet-api/spdy.ts', 'maxUnsentBytes'],
  ],
  'A WebSocket': [['1 MiB a message', MiB, 'kubelet-api/websocket-streams.ts', 'maxMessageBytes']],
  'Clients of `serveAgent`': [
    ['64 connections', 64, 'node/http-server/serve-endpoints.ts', 'maxConnections'],
    ['32 statuses', 32, 'observe/statusz/responder.ts', 'maxResponses'],
  ],
  Journal: [
    ['64 MiB by default', 64 * MiB, 'status-manager/journal/file-journal.ts', 'defaultMaxBytes'],
    ['1 GiB is read', GiB, 'status-manager/journal/file-journal.ts', 'maxReadBytes'],
    ['every second', second, 'status-manager/journal/journal-recorder.ts', 'intervalMs'],
  ],
  'Manifests of static pods': [
    ['10 MiB', 10 * MiB, 'node/config/pod-source.ts', 'maxManifestBytes'],
    ['20 s', 20 * second, 'node/config/http-source.ts', 'httpCheckFrequencyMs'],
  ],
  'Plugins for credentials': [
    ['1 MiB of output', MiB, 'kube/http/exec-credential.ts', 'MAX_OUTPUT_BYTES'],
    ['1 MiB of output', MiB, 'agent/credential-providers/exec-plugin.ts', 'maxOutputBytes'],
    ['a minute for a call', 60 * second, 'agent/credential-providers/exec-plugin.ts', 'timeoutMs'],
  ],
};

/** The value of a numeric constant, `name`, or of a field of a constant on one line, `name.field`. */
function valueOf(source: string, constant: string): number {
  const [name, field = ''] = constant.split('.');
  const [, text = ''] = new RegExp(`\\b${name} = (.+?)(?:;$| \\} = )`, 'm').exec(source) ?? [];
  const expression = field === '' ? text : (new RegExp(`\\b${field}: ([\\d_]+)`).exec(text)?.[1] ?? '');
  const numbers = expression
    .replaceAll(/\b[a-zA-Z]\w*/g, (other) => String(valueOf(source, other)))
    .replaceAll('_', '');
  if (!/^\d[\d *]*$/.test(numbers)) throw new Error(`No numeric constant ${constant}: ${text}`);
  return Number(runInNewContext(numbers));
}

describe('the bounds in docs/security.md', () => {
  it('are those of the peers that this test knows', () => {
    expect([...table.keys()].toSorted()).toEqual(Object.keys(bounds).toSorted());
  });

  it.each(Object.entries(bounds))('of %s are those of the code', (peer, known) => {
    let rest = table.get(peer)!;
    for (const [text, value, file, constant] of known) {
      expect(table.get(peer)).toContain(text);
      expect([constant, valueOf(read(`src/${file}`), constant)]).toEqual([constant, value]);
      rest = rest.replace(text, '');
    }
    // Each number has its constant, except the code of a response.
    expect(rest.replaceAll('429', '')).not.toMatch(/\d/);
  });
});
