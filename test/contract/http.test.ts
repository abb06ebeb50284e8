import { afterAll, beforeAll, describe } from 'vitest';
import { describeDelete } from './cases/delete.ts';
import { describeMaterials } from './cases/materials.ts';
import { describeNodeUser } from './cases/node-user.ts';
import { describeObjects } from './cases/objects.ts';
import { describeStatusPatch } from './cases/status-patch.ts';
import { describeTables } from './cases/tables.ts';
import { describeWatch } from './cases/watch.ts';
import { type ContractServer, contractServers, START_TIMEOUT_MS } from './servers.ts';

/*
 * How an API server responds to the requests that matter here. Every expectation was observed on
 * kube-apiserver v1.37.1. The in-memory APIServer must behave the same, and so must older servers,
 * except for the differences in version-facts.ts.
 */
for (const kind of contractServers) {
  const { name, available, start } = kind;
  describe.skipIf(!available)(`over HTTP on ${name}`, () => {
    let running: ContractServer;
    const server = (): ContractServer => running;
    beforeAll(async () => {
      running = await start();
    }, START_TIMEOUT_MS);
    afterAll(() => running.stop());

    describeObjects(server, kind);
    describeStatusPatch(server, kind);
    describeDelete(server, kind);
    describeNodeUser(server, kind);
    describeMaterials(server);
    describeTables(server);
    // Last, because it compacts the server's history.
    describeWatch(server, kind);
  });
}
