import type { ValidPod } from 'kubelet-status-manager';
import type { ProviderContainer, ProviderPod } from 'kubelet-status-manager/virtual-nodes';
import type { Course } from './course.ts';

/** What a cloud reports of a run of the pod that began so long ago: init containers one after the other, then all others. */
export function reportedRun(
  { spec }: Pick<ValidPod, 'spec'>,
  course: Course,
  {
    restartCount,
    startedAt,
    nowMs,
  }: { readonly restartCount: number; readonly startedAt: Date; readonly nowMs: number },
): Pick<ProviderPod, 'containers' | 'state'> {
  const containers: ProviderContainer[] = [];
  let sinceMs = startedAt.getTime();
  const run = (name: string): ProviderContainer => {
    const end = course.end(name, restartCount);
    const start = { name, startedAt: new Date(sinceMs) };
    if (end === undefined || nowMs < sinceMs + end.afterMs) return start;
    return { ...start, exit: { exitCode: end.exitCode, finishedAt: new Date(sinceMs + end.afterMs) } };
  };
  const waiting = { reason: 'PodInitializing' };
  for (const { name } of spec?.initContainers ?? []) {
    const { exit } = containers[containers.push(run(name)) - 1]!;
    if (exit?.exitCode !== 0) {
      const later = [...(spec?.initContainers ?? []).slice(containers.length), ...(spec?.containers ?? [])];
      containers.push(...later.map((container) => ({ name: container.name, waiting })));
      return { state: exit === undefined ? 'running' : 'stopped', containers };
    }
    sinceMs = exit.finishedAt!.getTime();
  }
  containers.push(...(spec?.containers ?? []).map(({ name }) => run(name)));
  return { state: containers.every(({ exit }) => exit !== undefined) ? 'stopped' : 'running', containers };
}
