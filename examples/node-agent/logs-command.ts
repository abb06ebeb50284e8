import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AgentError } from './agent-error.ts';

/** The container whose log is shown. */
export interface LogsOptions {
  readonly rootDirectory: string;
  readonly namespace: string;
  readonly pod: string;
  /** Absent: the only container of the pod that has a log. */
  readonly container?: string;
  /** The run before the last one. */
  readonly previous: boolean;
}

/**
 * The output of a container, which the API server cannot fetch from this agent.
 * @throws AgentError when there is no such log
 */
export function readContainerLog({ rootDirectory, namespace, pod, container, previous }: LogsOptions): string {
  const logs = join(rootDirectory, 'logs');
  const directories = namesIn(logs).filter((name) => name.startsWith(`${namespace}_${pod}_`));
  const [directory, ...others] = directories.map((name) => join(logs, name));
  if (directory === undefined) throw new AgentError(`there is no log of the pod ${namespace}/${pod} in ${logs}`);
  if (others.length > 0) throw new AgentError(`there are logs of several pods of this name: see ${logs}`);

  const containers = namesIn(directory);
  if (container === undefined && containers.length > 1) {
    throw new AgentError(`the pod has several containers: choose one of ${containers.join(', ')} with -c`);
  }
  const name = container ?? containers[0];
  if (name === undefined || !containers.includes(name)) {
    throw new AgentError(
      `there is no log of the container ${name ?? ''}; containers with a log: ${containers.join(', ')}`,
    );
  }
  const runs = namesIn(join(directory, name))
    .map((file) => /^(\d+)\.log$/.exec(file)?.[1])
    .filter((run) => run !== undefined)
    .map(Number)
    .toSorted((a, b) => b - a);
  const run = runs[previous ? 1 : 0];
  if (run === undefined) throw new AgentError(`there is no log of ${previous ? 'an earlier run' : 'a run'} of ${name}`);
  const file = join(directory, name, `${run}.log`);
  const rotated = existsSync(`${file}.1`) ? readFileSync(`${file}.1`, 'utf8') : '';
  return readCRILog(rotated + readFileSync(file, 'utf8'));
}

function namesIn(directory: string): string[] {
  return existsSync(directory) ? readdirSync(directory).toSorted() : [];
}

/** The output in a log in the CRI format, without times and tags. */
export function readCRILog(log: string): string {
  return log
    .split('\n')
    .filter((entry) => entry !== '')
    .map((entry) => {
      const [, tag = 'F', line = entry] = /^\S+ (?:stdout|stderr) ([PF]) (.*)$/s.exec(entry) ?? [];
      return tag === 'P' ? line : `${line}\n`;
    })
    .join('');
}
