import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** One run of a container, as its own process has recorded it. */
export interface ContainerRun {
  /** The ID of the container, without `process://`. */
  readonly id: string;
  /** The process, and its process group. */
  readonly pid: number;
  /** `exit`: on its own; `stop`: it was told to. Undefined: it runs, or was killed. */
  end: { readonly kind: 'exit' | 'stop'; readonly exitCode: number } | undefined;
  /** The containers that were still running when this one started. */
  readonly overlaps: string[];
}

/** The starts and ends of all containers, one file for each container of each pod, oldest first. */
export class RunLedger {
  readonly directory: string;

  constructor(directory: string) {
    this.directory = directory;
  }

  /** By UID of the pod, then by name of the container. */
  read(): Map<string, Map<string, ContainerRun[]>> {
    const pods = new Map<string, Map<string, ContainerRun[]>>();
    for (const file of readdirSync(this.directory)) {
      const [uid = '', container = ''] = file.split('.');
      const containers = pods.get(uid) ?? new Map<string, ContainerRun[]>();
      containers.set(container, parseRuns(readFileSync(join(this.directory, file), 'utf8')));
      pods.set(uid, containers);
    }
    return pods;
  }

  runsOf(uid: string): ContainerRun[] {
    return [...(this.read().get(uid)?.values() ?? [])].flat();
  }

  all(): ContainerRun[] {
    return [...this.read().values()].flatMap((containers) => [...containers.values()].flat());
  }
}

function parseRuns(text: string): ContainerRun[] {
  const runs: ContainerRun[] = [];
  // The last line may be incomplete.
  for (const line of text.split('\n').slice(0, -1)) {
    const [what, id = '', pid, rest = ''] = line.split(' ');
    const run = runs.findLast((run) => run.id === id && run.pid === Number(pid));
    if (what === 'start') runs.push({ id, pid: Number(pid), end: undefined, overlaps: [] });
    else if (what === 'overlap') run?.overlaps.push(rest);
    else if (run !== undefined) run.end ??= { kind: what === 'stop' ? 'stop' : 'exit', exitCode: Number(rest) };
  }
  return runs;
}
