import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { NodeAgentProcess } from '../../support/node/agents.ts';
import type { Machine } from '../../support/node/machine.ts';
import type { ContainerdLog } from './containerd-log.ts';
import type { RuntimeSnapshot } from './runtime-snapshot.ts';

/** What is left of pods that are gone; empty if nothing is. */
export interface Leaks {
  /** What the agent removes with the pod. */
  readonly early: readonly string[];
  /** What the agent removes once a minute. */
  readonly late: readonly string[];
}

/** @param podUIDs of the pods that still exist */
export function findLeaks(
  machine: Machine,
  agent: NodeAgentProcess,
  { sandboxes, containers }: RuntimeSnapshot,
  podUIDs: ReadonlySet<string>,
): Leaks {
  const root = join(agent.folder, 'root');
  const isGone = (uid: string): boolean => !podUIDs.has(uid);
  const gone = (what: string, uids: readonly string[]): string[] =>
    [...new Set(uids.filter(isGone))].map((uid) => `${what} of pod ${uid}`);
  const ids = new Set(sandboxes.map(({ id }) => id));
  return {
    early: [
      ...gone('a running container', uidsOf(containers.filter(({ state }) => state === 'running'))),
      ...gone('a ready sandbox', uidsOf(sandboxes.filter(({ ready }) => ready))),
      ...gone(
        'a mount',
        mountsBelow(join(root, 'pods')).map((path) => path.split('/')[0]!),
      ),
      ...gone('the folder', namesIn(join(root, 'pods'))),
      ...leases(machine)
        .filter(({ sandboxID }) => !ids.has(sandboxID))
        .map(({ address, sandboxID }) => `the address ${address} of sandbox ${sandboxID}`),
    ],
    late: [
      ...gone('a container', uidsOf(containers)),
      ...gone('a sandbox', uidsOf(sandboxes)),
      ...gone('a cgroup', podCgroups(machine.cgroupRoot)),
      ...gone(
        'the logs',
        namesIn(join(agent.folder, 'podlogs')).map((name) => name.split('_')[2] ?? name),
      ),
      ...namesIn(join(agent.folder, 'containers'))
        .filter((name) => !existsSync(join(agent.folder, 'containers', name)))
        .map((name) => `the link ${name}`),
    ],
  };
}

/** What is left although no pod is: shims and ends of their networks. */
export function findShims(machine: Machine, containerdLog: ContainerdLog): string[] {
  return [
    ...machine
      .shims()
      .filter((id) => !containerdLog.mayLeaveShim(id))
      .map((id) => `the shim of sandbox ${id}`),
    ...namesIn(`/sys/class/net/cni${machine.index}/brif`).map((name) => `the network interface ${name}`),
    ...leases(machine).map(({ address }) => `the address ${address}`),
  ];
}

function uidsOf(list: readonly { readonly podUID: string }[]): string[] {
  return list.map(({ podUID }) => podUID);
}

/** What host-local has stored: which sandbox has which address. */
function leases({ folder, index }: Machine): { address: string; sandboxID: string }[] {
  const path = join(folder, 'containerd', 'ipam', `net${index}`);
  return namesIn(path)
    .filter((name) => /^\d+(\.\d+){3}$/.test(name))
    .map((address) => ({ address, sandboxID: readFileSync(join(path, address), 'utf8').split(/\s/)[0]! }));
}

function podCgroups(root: string): string[] {
  return namesIn('/sys/fs/cgroup')
    .flatMap((controller) =>
      ['', 'burstable', 'besteffort'].map((qos) => join('/sys/fs/cgroup', controller, root, qos)),
    )
    .flatMap((folder) => namesIn(folder))
    .flatMap((name) => (name.startsWith('pod') ? [name.slice('pod'.length)] : []));
}

/** Paths of mounts below a folder, relative to it. */
function mountsBelow(folder: string): string[] {
  return readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '')
    .filter((path) => path.startsWith(`${folder}/`))
    .map((path) => path.slice(folder.length + 1));
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
