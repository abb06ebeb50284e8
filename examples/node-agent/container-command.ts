import type { Container, Pod } from 'kubelet-status-manager';

/** What to execute for a container. */
export interface ContainerCommand {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: { readonly [name: string]: string };
  readonly workingDir: string | undefined;
}

/** The container cannot be run as it is written; the message says why, for its status. */
export class ContainerConfigError extends Error {
  override readonly name = 'ContainerConfigError';
}

/**
 * Turns `command`, `args` and `env` into something to execute. References such as `$(NAME)` are
 * replaced as Kubernetes does it: unknown ones stay, and `$$` stands for one `$`.
 *
 * Throws ContainerConfigError when the container asks for what a plain process cannot have.
 */
export function resolveContainerCommand(pod: Pod, container: Container): ContainerCommand {
  const [file, ...commandArgs] = container.command ?? [];
  if (file === undefined) {
    throw new ContainerConfigError(
      'the container has no command: this agent runs processes and pulls no image that could name one',
    );
  }
  if (container.envFrom?.length) {
    throw new ContainerConfigError('envFrom is not supported by this agent: write the variables under env');
  }
  const env = new Map([['HOSTNAME', pod.metadata?.name ?? '']]);
  for (const { name, value, valueFrom } of container.env ?? []) {
    if (valueFrom)
      throw new ContainerConfigError(`env ${name}: valueFrom is not supported by this agent: write a value`);
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
