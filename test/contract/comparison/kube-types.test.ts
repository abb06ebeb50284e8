import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { kubeTypes } from '../../../src/kube/objects/kube-types.ts';
import type { Json } from '../../support/kube-http.ts';
import { comparedServer, type ContractServer, START_TIMEOUT_MS } from '../servers.ts';

const { name, available, start } = comparedServer;
/** Documents that describe the kinds which APIServer serves. */
const documents = ['api/v1', 'apis/coordination.k8s.io/v1', 'apis/policy/v1', 'apis/authorization.k8s.io/v1'];
/** Most types; quantities and times are not objects in JSON. */
const minimum = 150;

describe.skipIf(!available)(`the table of Go types and the OpenAPI documents of ${name}`, () => {
  let server: ContractServer;
  beforeAll(async () => {
    server = await start();
  }, START_TIMEOUT_MS);
  afterAll(() => server.stop());

  it('have the same fields in each type', async () => {
    const schemas = new Map<string, Json>();
    for (const path of documents) {
      const { body } = await server.http.request('GET', `/openapi/v3/${path}`);
      for (const [schema, value] of Object.entries<Json>(body.components.schemas)) {
        schemas.set(schema.split('.').at(-1)!, value);
      }
    }
    const checked = Object.entries(kubeTypes).filter(([type]) => schemas.get(type)?.properties !== undefined);
    for (const [type, fields] of checked) {
      const names = fields.split('; ').map((field) => String(field.split(' ')[0]).replace('?', ''));
      expect({ type, fields: names.toSorted() }).toEqual({
        type,
        fields: Object.keys(schemas.get(type).properties).toSorted(),
      });
    }
    expect(checked.length).toBeGreaterThan(minimum);
  });
});
