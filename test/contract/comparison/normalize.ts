import type { Json, KubeResponse } from '../../support/kube-http.ts';

const time = /^20[2-9]\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;
const jwt = /^[\w-]+\.[\w-]+\.[\w-]+$/;
const uuid = /^(JTI=)?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/**
 * The parts of a response that must be the same on both servers. Times of the run, UIDs, resourceVersions and
 * generated names are replaced. The messages of a Status are removed; its code, reason, details and the fields of
 * its causes stay.
 */
export function normalizedResponse({ status, headers, body }: KubeResponse, namespace: string): Json {
  return { status, warnings: warningsOf(headers['warning']), body: normalizedBody(body, namespace) };
}

function warningsOf(header: string | string[] | undefined): string[] {
  return [header ?? []]
    .flat()
    .flatMap((line) => line.split(/, (?=299)/))
    .toSorted();
}

function normalizedBody(body: Json, namespace: string): Json {
  if (typeof body === 'object' && body !== null && body.kind === 'Status') return normalizedStatus(body, namespace);
  return normalized(body, '', namespace);
}

function normalizedStatus({ message: _message, details, ...rest }: Json, namespace: string): Json {
  const { causes, ...others } = details ?? {};
  const fields = (causes ?? []).map(({ reason, field }: Json) => `${reason} ${field}`);
  return normalized(
    { ...rest, ...(details === undefined ? {} : { details: { ...others, causes: fields.toSorted() } }) },
    '',
    namespace,
  );
}

function normalized(value: Json, name: string, namespace: string): Json {
  if (Array.isArray(value)) return value.map((one) => normalized(one, name, namespace));
  if (typeof value === 'string') {
    if (time.test(value)) return '<time>';
    if (uuid.test(value)) return '<uid>';
    if (name === 'resourceVersion' && value !== '') return '<resourceVersion>';
    if (name === 'continue' && value !== '') return '<continue>';
    if (name === 'token' && jwt.test(value)) return '<token>';
    return value.replaceAll(namespace, 'NS').replace(/^(generated-)[a-z0-9]{5}$/i, '$1<random>');
  }
  if (typeof value !== 'object' || value === null) return value;
  const result: Json = {};
  for (const [name, one] of Object.entries(value)) {
    if (name === 'managedFields') continue;
    result[name] = normalized(one, name, namespace);
  }
  return result;
}
