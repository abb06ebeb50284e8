import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Json } from '../../support/kube-http.ts';
import { comparedServer, type ContractServer, contractServers, START_TIMEOUT_MS } from '../servers.ts';
import { declaredDifferences } from './declared-differences.ts';
import { normalizedResponse } from './normalize.ts';
import { scenarios } from './scenarios.ts';
import { sendRequest } from './send.ts';

/*
 * Sends the same raw requests to the in-memory APIServer and to a real kube-apiserver. All differences are in
 * the list of declared differences: either APIServer rejects the request with a clear message, or the difference
 * is harmless.
 */
const [inMemory] = contractServers;
const { name, available } = comparedServer;

describe('the raw requests of the comparison', () => {
  it('are at least 300, and each declared difference is shown by one of them', () => {
    const requests = scenarios.flatMap(({ requests }) => requests);
    expect(requests.length).toBeGreaterThanOrEqual(300);
    const shown = new Set(requests.map(({ difference }) => difference).filter((one) => one !== undefined));
    expect([...shown].toSorted()).toEqual(declaredDifferences.map(({ id }) => id).toSorted());
  });
});

describe.skipIf(!available)(`APIServer and ${name} respond alike`, () => {
  const servers: ContractServer[] = [];
  beforeAll(async () => {
    servers.push(await inMemory!.start(), await comparedServer.start());
  }, START_TIMEOUT_MS);
  afterAll(() => Promise.all(servers.map((server) => server.stop())));

  describe.each(scenarios.map((scenario, i) => ({ ...scenario, i })))('$title', ({ requests, i }) => {
    const namespace = `comparison-${i}`;
    const seen: { readonly memory: Json[]; readonly real: Json[] } = { memory: [], real: [] };
    beforeAll(async () => {
      const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } };
      for (const server of servers) await server.http.request('POST', '/api/v1/namespaces', { body });
    });

    it.for(requests.map((request, j) => ({ ...request, j })))('$j $title', async (request) => {
      const [memoryServer, realServer] = servers as [ContractServer, ContractServer];
      const memory = await sendRequest(memoryServer, request, namespace, seen.memory);
      let response = await sendRequest(realServer, request, namespace, seen.real);
      const expected = normalizedResponse(memory, namespace);
      // The authorizer of a real server gets pods from a watch, so it lags behind for a moment.
      if (request.user !== undefined && request.user !== 'admin') {
        for (let tries = 0; tries < 50 && response.status !== memory.status; tries++) {
          response = await sendRequest(realServer, request, namespace, seen.real);
        }
      }
      seen.memory.push(memory.body);
      seen.real.push(response.body);
      const difference = declaredDifferences.find(({ id }) => id === request.difference);
      if (difference === undefined) {
        expect(expected).toEqual(normalizedResponse(response, namespace));
        return;
      }
      // Differences that no longer exist must be removed from the list.
      expect(expected).not.toEqual(normalizedResponse(response, namespace));
      if (difference.refusal === undefined) return;
      expect([406, 415, 501]).toContain(memory.status);
      expect(memory.body.message).toContain(difference.refusal);
    });
  });
});
