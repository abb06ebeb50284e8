import { reviewResources } from '../access/review-resource.ts';
import { groupVersionOf, type ResourceDefinition, resources, singularOf } from '../resources/resources.ts';
import type { Subresource } from '../resources/subresources.ts';

const verbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];

/** The media type of a discovery document for all groups. */
const aggregatedDiscoveryType = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';

export const versionInfo = {
  major: '1',
  minor: '37',
  emulationMajor: '1',
  emulationMinor: '37',
  minCompatibilityMajor: '1',
  minCompatibilityMinor: '36',
  gitVersion: 'v1.37.1',
  gitCommit: '',
  gitTreeState: '',
  buildDate: '1970-01-01T00:00:00Z',
  goVersion: '',
  compiler: '',
  platform: '',
};

/** The document of a discovery path; undefined for any other path. */
export function discoveryDocument(
  path: string,
  accept: string,
): { readonly type: string; readonly body: object } | undefined {
  if ((path === '/api' || path === '/apis') && accept.split(',').some(isAggregated)) {
    return { type: aggregatedDiscoveryType, body: groupDiscoveryList(path === '/api') };
  }
  const body = plainDocument(path);
  return body === undefined ? undefined : { type: 'application/json', body };
}

/** @param mediaType with parameters in any order */
function isAggregated(mediaType: string): boolean {
  const [type, ...parameters] = mediaType.split(';').map((part) => part.trim());
  return type === 'application/json' && parameters.includes('g=apidiscovery.k8s.io') && parameters.includes('v=v2');
}

function plainDocument(path: string): object | undefined {
  if (path === '/api') return { kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs: [] };
  if (path === '/api/v1') return resourceList('');
  const groups = namedGroups();
  if (path === '/apis') return { kind: 'APIGroupList', apiVersion: 'v1', groups: groups.map(groupBody) };
  const [, root, group = '', groupVersion, ...rest] = path.split('/');
  if (root !== 'apis' || rest.length > 0 || !groups.includes(group)) return undefined;
  if (groupVersion === undefined) return { kind: 'APIGroup', apiVersion: 'v1', ...groupBody(group) };
  return groupVersion === 'v1' ? resourceList(group) : undefined;
}

type Discovered = Omit<ResourceDefinition, 'fields' | 'kind' | 'strategy'> & {
  readonly kind: string;
  readonly isReview?: true;
};

const discovered: readonly Discovered[] = [
  ...resources,
  ...reviewResources.map((review) => ({
    ...review,
    ...{ isReview: true as const, namespaced: false, shortNames: [], subresources: [] },
  })),
];

function namedGroups(): string[] {
  const groups = discovered.map(({ group }) => group);
  return [...new Set(groups)].filter((group) => group !== '');
}

function groupBody(name: string): {
  readonly name: string;
  readonly versions: object[];
  readonly preferredVersion: object;
} {
  const version = { groupVersion: `${name}/v1`, version: 'v1' };
  return { name, versions: [version], preferredVersion: version };
}

function resourceList(group: string): object {
  return {
    kind: 'APIResourceList',
    ...(group === '' ? {} : { apiVersion: 'v1' }),
    groupVersion: groupVersionOf({ group }),
    resources: discovered.filter((one) => one.group === group).flatMap(resourceEntries),
  };
}

function resourceEntries(definition: Discovered): object[] {
  const { resource, namespaced, kind, shortNames, categories } = definition;
  return [
    {
      name: resource,
      singularName: singularOf(definition),
      namespaced,
      kind,
      verbs: verbsOf(definition),
      ...(shortNames.length === 0 ? {} : { shortNames }),
      ...(categories === undefined ? {} : { categories }),
    },
    ...definition.subresources.map((subresource) => ({
      name: `${resource}/${subresource.name}`,
      singularName: '',
      namespaced,
      ...subresource.body,
      kind: subresource.body?.kind ?? kind,
      verbs: Object.values(subresource.verbs).toSorted(),
    })),
  ];
}

function verbsOf({ deletesCollections, isReadOnly, isReview }: Discovered): string[] {
  if (isReview) return ['create'];
  if (isReadOnly) return ['get', 'list', 'watch'];
  return deletesCollections === false ? verbs.filter((verb) => verb !== 'deletecollection') : verbs;
}

function groupDiscoveryList(isCore: boolean): object {
  const groups = isCore ? [''] : namedGroups();
  const items = groups.map((group) => ({
    metadata: group === '' ? {} : { name: group },
    versions: [{ version: 'v1', freshness: 'Current', resources: discoveredResources(group) }],
  }));
  return { kind: 'APIGroupDiscoveryList', apiVersion: 'apidiscovery.k8s.io/v2', metadata: {}, items };
}

function discoveredResources(group: string): object[] {
  return discovered
    .filter((one) => one.group === group)
    .map((definition) => {
      const { resource, kind, namespaced, shortNames, categories, subresources } = definition;
      return {
        resource,
        responseKind: { group: '', version: '', kind },
        scope: namespaced ? 'Namespaced' : 'Cluster',
        singularResource: singularOf(definition),
        verbs: verbsOf(definition),
        ...(shortNames.length === 0 ? {} : { shortNames }),
        ...(categories === undefined ? {} : { categories }),
        ...(subresources.length === 0
          ? {}
          : { subresources: subresources.map((subresource) => discoveredSubresource(subresource, kind)) }),
      };
    });
}

function discoveredSubresource({ name, body, verbs }: Subresource, objectKind: string): object {
  const responseKind = body ?? { group: '', version: '', kind: objectKind };
  return { subresource: name, responseKind, verbs: Object.values(verbs).toSorted() };
}
