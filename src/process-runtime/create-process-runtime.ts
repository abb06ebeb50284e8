import { existsSync } from 'node:fs';
import { refuseOption } from '../shared/errors.ts';
import { requireOptions } from '../shared/option-checks.ts';
import { resolveClock, resolveLogger } from '../shared/ports.ts';
import { NodeDirectory } from './node-directory.ts';
import { shimFile } from './process-container.ts';
import { ProcessContainerRuntime } from './process-runtime.ts';
import {
  type ProcessRuntime,
  processRuntimeOptionChecks,
  type ProcessRuntimeOptions,
} from './process-runtime-options.ts';
import { thisUser } from './unsupported-fields.ts';

/**
 * Runs each container as a process group of this machine and of the agent's user, without any other isolation; on Linux
 * and macOS. A pod that asks for more in its spec is not started, and its containers wait with the reason
 * `CreateContainerConfigError`. Images are not used: a container needs a `command`.
 *
 * Resolves when the containers of earlier runtimes on the directory have been found: they outlive the agent. Rejects if
 * another runtime uses the directory, or if it cannot be written to.
 * @throws StatusManagerError INVALID_OPTION
 *
 * @example
 * ```ts
 * import { createNodeAgent, createRuntimeHelper } from 'kubelet-status-manager/agent';
 * import { createProcessRuntime } from 'kubelet-status-manager/process-runtime';
 *
 * const [rootDirectory, hostIPs] = ['/var/lib/process-node', ['192.0.2.7']];
 * const helper = createRuntimeHelper({ client: kubeConfig, rootDirectory, hostIPs, mounts: false });
 * const runtime = await createProcessRuntime({ rootDirectory, hostIPs, helper });
 * const { volumeManager } = helper;
 * const node = { addresses: hostIPs };
 * const agent = createNodeAgent({ nodeName: 'node-a', client: kubeConfig, runtime, volumeManager, node });
 * agent.start();
 *
 * // When it is to end:
 * await agent.stop({ drain: true });
 * await runtime.close();
 * await helper.close();
 * ```
 */
export async function createProcessRuntime(options: ProcessRuntimeOptions): Promise<ProcessRuntime> {
  requireOptions(options, processRuntimeOptionChecks);
  if (process.platform !== 'linux' && process.platform !== 'darwin')
    throw new Error(`The process runtime needs Linux or macOS, not ${process.platform}`);
  if (!existsSync(shimFile))
    throw new Error(
      `${shimFile} is missing: leave kubelet-status-manager out of a bundle, because it starts this file`,
    );
  const { rootDirectory, helper, hostIPs } = options;
  const excess = NodeDirectory.excessBytes(rootDirectory);
  if (excess > 0) refuseOption('rootDirectory', `a path for sockets, ${excess} bytes shorter`, rootDirectory);
  return ProcessContainerRuntime.open({
    ...{ directory: new NodeDirectory(rootDirectory), helper, hostIPs, user: thisUser() },
    ...{ clock: resolveClock(options.clock), logger: resolveLogger(options.logger) },
  });
}
