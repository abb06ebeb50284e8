import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ContractServer, contractServers, START_TIMEOUT_MS } from './servers.ts';
import { coveredVersionOf, coveredVersions, versionFacts } from './version-facts.ts';

/* Observes each fact of the table on each server. The in-memory APIServer behaves as the newest version. */
for (const { name, available, version, start } of contractServers) {
  const isCovered = coveredVersions.some((covered) => version.startsWith(`${covered}.`));
  describe.skipIf(!available || !isCovered)(`facts by version on ${name}`, () => {
    let server: ContractServer;
    beforeAll(async () => {
      server = await start();
    }, START_TIMEOUT_MS);
    afterAll(() => server.stop());

    it.for(Object.entries(versionFacts))('%s', async ([, { on, observe }]) => {
      expect(await observe(server)).toBe(on[coveredVersionOf(version)]);
    });
  });
}

it('a version that is not covered behaves as the nearest earlier one', () => {
  expect(['1.28.0', '1.30.14', '1.32.9', '1.34.1', '1.37.1', '1.40.0'].map(coveredVersionOf)).toEqual([
    ...['1.30', '1.30', '1.30', '1.33', '1.37', '1.37'],
  ]);
});
