import type { Container, Pod } from 'kubelet-status-manager';

/** What to execute for a container. */
export interface ContainerCommand {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: { readonly [name: string]: string };
  readonly workingDir: string | undefined;
}

/** The container's spec cannot be run. The message says why, and is reported in the container's status. */
export class ContainerConfigError extends Error {
  override readonly name = 'ContainerConfigError';
}

/**
 * Resolves `command`, `args` and `env` to what is executed. References such as `$(NAME)` are
 * replaced as in Kubernetes: unknown ones stay, and `$$` becomes one `$`.
 *
 * Throws ContainerConfigError when the spec requires something that a plain process cannot have.
 */
export function resolveContainerCommand(pod: Pod, container: Container): ContainerCommand {
  const [file, ...commandArgs] = container.command ?? [];
  if (file === undefined) {
    throw new ContainerConfigError(
      'the container has no command: this agent runs processes and does not pull images, which could name one',
    );
  }
  if (container.envFrom?.length) {
    throw new ContainerConfigError('envFrom is not supported by this agent: set the variables in env');
  }
  const env = new Map([['HOSTNAME', pod.metadata?.name ?? '']]);
  for (const { name, value, valueFrom } of container.env ?? []) {
    if (valueFrom) throw new ContainerConfigError(`env ${name}: valueFrom is not supported by this agent: set a value`);
    env.set(name, expandVariables(value ?? '', env));
  }
  return {
    file: expandVariables(file, env),
    args: [...commandArgs, ...(container.args ?? [])].map((arg) => expandVariables(arg, env)),
    env: Object.fromEntries(env),
    workingDir: container.workingDir || undefined,
  };
}

function expandVariables(text: string, env: ReadonlyMap<string, string>): string {
  return text.replace(/\$\$|\$\(([^()\s]+)\)/g, (reference, name: string | undefined) =>
    name === undefined ? '$' : (env.get(name) ?? reference),
  );
}
