import type { Container, Pod } from 'kubelet-status-manager';
import { ContainerConfigError } from 'kubelet-status-manager/agent';
import type { ConfigObjects } from './config-objects.ts';
import { makeEnvironmentVariables } from './environment.ts';
import { expandReferences } from './expand-references.ts';
import type { NodeFacts } from './field-ref.ts';

/** What to execute for a container. */
export interface ContainerCommand {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: { readonly [name: string]: string };
  readonly workingDir: string | undefined;
}

/**
 * Resolves `command`, `args`, `env` and `envFrom` of a container.
 * @throws ContainerConfigError when something is missing
 */
export async function resolveContainerCommand(
  pod: Pod,
  container: Container,
  configObjects: ConfigObjects,
  node: NodeFacts,
): Promise<ContainerCommand> {
  if (!container.command?.length) {
    throw new ContainerConfigError(
      'the container has no command: this agent runs processes and does not pull images, which could name one',
    );
  }
  const variables = await makeEnvironmentVariables(pod, container, configObjects, node);
  const [file = '', ...args] = [...container.command, ...(container.args ?? [])].map((text) =>
    expandReferences(text, variables),
  );
  return {
    ...{ file, args },
    env: { HOSTNAME: pod.metadata?.name ?? '', ...Object.fromEntries(variables) },
    workingDir: container.workingDir || undefined,
  };
}
