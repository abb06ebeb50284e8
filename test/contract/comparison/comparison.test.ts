import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Json } from '../../support/kube-http.ts';
import { type ContractServer, contractServers, START_TIMEOUT_MS } from '../servers.ts';
import { declaredDifferences } from './declared-differences.ts';
import { normalizedResponse } from './normalize.ts';
import { scenarios } from './scenarios.ts';
import { sendRequest } from './send.ts';

/*
 * The same raw requests to the in-memory ApiServer and to a real kube-apiserver. What differs is on the list
 * of declared differences: ApiServer refuses it with a clear message, or the difference is harmless.
 */
const [inMemory, real] = contractServers;
const { name, available } = real!;

describe('the raw requests of the comparison', () => {
  it('are at least 300, and each declared difference is shown by one', () => {
    const requests = scenarios.flatMap(({ requests }) => requests);
    expect(requests.length).toBeGreaterThanOrEqual(300);
    const shown = new Set(requests.map(({ difference }) => difference).filter((one) => one !== undefined));
    expect([...shown].toSorted()).toEqual(declaredDifferences.map(({ id }) => id).toSorted());
  });
});

describe.skipIf(!available)(`ApiServer and ${name} respond alike`, () => {
  const servers: ContractServer[] = [];
  beforeAll(async () => {
    servers.push(await inMemory!.start(), await real!.start());
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
      let answer = await sendRequest(realServer, request, namespace, seen.real);
      const expected = normalizedResponse(memory, namespace);
      // The authorizer of a real server knows pods from a watch, so that it is behind for a moment.
      if (request.user !== undefined && request.user !== 'admin') {
        for (let tries = 0; tries < 50 && answer.status !== memory.status; tries++) {
          answer = await sendRequest(realServer, request, namespace, seen.real);
        }
      }
      seen.memory.push(memory.body);
      seen.real.push(answer.body);
      const difference = declaredDifferences.find(({ id }) => id === request.difference);
      if (difference === undefined) {
        expect(expected).toEqual(normalizedResponse(answer, namespace));
        return;
      }
      // What is no difference any more leaves the list.
      expect(expected).not.toEqual(normalizedResponse(answer, namespace));
      if (difference.refusal === undefined) return;
      expect([406, 415, 501]).toContain(memory.status);
      expect(memory.body.message).toContain(difference.refusal);
    });
  });
});
