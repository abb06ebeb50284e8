import { afterAll, beforeAll, describe } from 'vitest';
import type { NodeAgentOptions } from 'kubelet-status-manager/agent';
import { type ContractServer, contractServers, START_TIMEOUT_MS } from '../../contract/servers.ts';
import type { VersionFactName } from '../../contract/version-facts.ts';
import { AgentCluster } from './agent-cluster.ts';

/**
 * The same tests on the APIServer and on each kube-apiserver, with one agent for all of them. Older servers
 * that lack what `needs` names are skipped.
 */
export function describeOnServers(
  title: string,
  options: () => Partial<NodeAgentOptions>,
  tests: (cluster: () => AgentCluster) => void,
  needs: readonly VersionFactName[] = [],
): void {
  for (const kind of contractServers) {
    const isOld = needs.some((fact) => !kind.isAsNewest(fact));
    describe.skipIf(!kind.available || isOld)(`${title}: ${kind.name}`, () => {
      let server: ContractServer;
      let cluster: AgentCluster;
      beforeAll(async () => {
        server = await kind.start();
        cluster = await AgentCluster.start(server, options());
      }, START_TIMEOUT_MS);
      afterAll(async () => {
        await cluster?.[Symbol.asyncDispose]();
        await server?.stop();
      });
      tests(() => cluster);
    });
  }
}
