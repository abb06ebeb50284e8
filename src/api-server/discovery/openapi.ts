import { type ResourceDefinition, resources } from '../resources/resources.ts';

const fieldValidation = {
  name: 'fieldValidation',
  in: 'query',
  description: 'How duplicate and unknown fields are treated.',
  schema: { type: 'string', uniqueItems: true },
};

function pathOf({ group }: ResourceDefinition): string {
  return group === '' ? 'api/v1' : `apis/${group}/v1`;
}

/**
 * The OpenAPI v3 document at a path below `/openapi/v3`. It only tells kubectl that the server
 * supports field validation. Undefined for any other path.
 */
export function openAPIDocument(path: string): object | undefined {
  const paths = new Set(resources.map(pathOf));
  if (path === '/openapi/v3') {
    return { paths: Object.fromEntries([...paths].map((one) => [one, { serverRelativeURL: `/openapi/v3/${one}` }])) };
  }
  const wanted = path.slice('/openapi/v3/'.length);
  if (!paths.has(wanted)) return undefined;
  return {
    openapi: '3.0.0',
    info: { title: 'Kubernetes', version: 'v1.37.1' },
    paths: Object.fromEntries(
      resources
        .filter((one) => pathOf(one) === wanted && !one.isReadOnly)
        .flatMap((definition) => pathItems(definition, wanted)),
    ),
    components: { schemas: {} },
  };
}

function pathItems(definition: ResourceDefinition, root: string): [string, object][] {
  const { resource, namespaced, group, kind } = definition;
  const collection = `/${root}/${namespaced ? 'namespaces/{namespace}/' : ''}${resource}`;
  const operation = (action: string) => ({
    parameters: [fieldValidation],
    responses: { '200': { description: 'OK' } },
    'x-kubernetes-action': action,
    'x-kubernetes-group-version-kind': { group, version: 'v1', kind },
  });
  return [
    [collection, { post: operation('post') }],
    [`${collection}/{name}`, { put: operation('put'), patch: operation('patch') }],
  ];
}
