import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import isEqual from 'lodash/isEqual.js';
import type { Json } from '../../support/kube-http.ts';
import { repository } from '../../support/repository.ts';
import { app, forever } from '../../side-by-side/shape.ts';
import type { TestNode } from '../test-node.ts';

const recordFile = join(repository, 'test/machine/after-reboot.json');
const staticPod = 'static';

const pods = {
  always: { containers: [app(forever)] },
  'on-failure': { restartPolicy: 'OnFailure', containers: [app(forever)] },
  never: { restartPolicy: 'Never', containers: [app(forever)] },
  succeeded: { restartPolicy: 'OnFailure', containers: [app('sleep 1')] },
  sidecar: {
    initContainers: [app('sleep 1', { name: 'init' }), app(forever, { name: 'sidecar', restartPolicy: 'Always' })],
    containers: [app(forever)],
  },
} as const;

/** What a watcher sees of a pod, without times, IDs and addresses. */
interface Summary {
  readonly phase: string;
  readonly conditions: Readonly<Record<string, string>>;
  readonly containers: Readonly<Record<string, { restartCount: number; state: string; lastState: string }>>;
}

type Summaries = Readonly<Record<string, Summary>>;

/** Pods of all restart policies are, after a reboot of the machine, as the kubelet shows them after the same reboot. */
export async function reboot(node: TestNode): Promise<void> {
  const recorded = JSON.parse(readFileSync(recordFile, 'utf8')) as Summaries;
  await rebootWithPods(node);
  let seen: Summaries = {};
  const check = async (): Promise<boolean> => isEqual((seen = await summarize(node)), recorded);
  await node.until('pods as under the kubelet', check, () => Promise.resolve(differencesOf(seen, recorded)));
  await removePods(node);
}

/** Writes what the kubelet shows. */
export async function recordReboot(node: TestNode): Promise<void> {
  await rebootWithPods(node);
  let stableSinceMs = Date.now();
  let seen = await summarize(node);
  await node.until('nothing changes for a minute', async () => {
    const next = await summarize(node);
    if (!isEqual(next, seen)) stableSinceMs = Date.now();
    seen = next;
    return Date.now() - stableSinceMs > 60_000;
  });
  writeFileSync(recordFile, `${JSON.stringify(seen, undefined, 2)}\n`);
}

async function rebootWithPods(node: TestNode): Promise<void> {
  const manifest = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: staticPod },
    spec: { containers: [app(forever)] },
  };
  const path = `/etc/kubernetes/manifests/${staticPod}.json`;
  await node.machine.run(`cat >${path} <<'END'\n${JSON.stringify(manifest)}\nEND`);
  await node.createPods(pods);
  for (const name of ['always', 'on-failure', 'never', 'sidecar', `${staticPod}-${node.name}`])
    await node.untilReady(name);
  await node.untilPod('succeeded', 'Succeeded', ({ status }) => status.phase === 'Succeeded');
  await node.machine.reboot();
}

async function removePods(node: TestNode): Promise<void> {
  await node.machine.run(`rm /etc/kubernetes/manifests/${staticPod}.json`);
  await node.deletePods(...Object.keys(pods));
}

async function summarize(node: TestNode): Promise<Summaries> {
  const { items } = await node.get('pods');
  const ours = items.filter(({ metadata: { name } }: Json) => name in pods || name.startsWith(`${staticPod}-`));
  return Object.fromEntries(ours.map((pod: Json) => [pod.metadata.name, summaryOf(pod)]));
}

function summaryOf({ status }: Json): Summary {
  const containers = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
  return {
    phase: status.phase,
    conditions: Object.fromEntries(status.conditions.map(({ type, status: value }: Json) => [type, value])),
    containers: Object.fromEntries(
      containers.map(({ name, restartCount, state, lastState }: Json) => [
        name,
        { restartCount, state: stateOf(state), lastState: stateOf(lastState) },
      ]),
    ),
  };
}

function stateOf(state: Json): string {
  const [[kind, { reason, exitCode }] = ['none', {}]] = Object.entries<Json>(state ?? {});
  return [kind, reason, exitCode].filter((part) => part !== undefined).join(' ');
}

function differencesOf(seen: Summaries, recorded: Summaries): object {
  const names = Object.keys({ ...seen, ...recorded }).filter((name) => !isEqual(seen[name], recorded[name]));
  return Object.fromEntries(names.map((name) => [name, { agent: seen[name], kubelet: recorded[name] }]));
}
