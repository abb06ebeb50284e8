import protobuf from 'protobufjs';

/** What `src/cri` calls. */
const methods = {
  RuntimeService: [
    'Version',
    'Status',
    'RuntimeConfig',
    'RunPodSandbox',
    'StopPodSandbox',
    'RemovePodSandbox',
    'PodSandboxStatus',
    'ListPodSandbox',
    'CreateContainer',
    'StartContainer',
    'StopContainer',
    'RemoveContainer',
    'ListContainers',
    'ContainerStatus',
    'UpdateContainerResources',
    'UpdatePodSandboxResources',
    'ReopenContainerLog',
    'ExecSync',
    'Exec',
    'Attach',
    'PortForward',
    'PodSandboxStats',
    'ListPodSandboxStats',
    'ListContainerStats',
    'GetContainerEvents',
  ],
  ImageService: ['ListImages', 'ImageStatus', 'PullImage', 'RemoveImage', 'ImageFsInfo'],
};

/** Fields that runtimes fill and that nobody reads: what is not in the table costs nothing when it is received. */
const skippedFields = new Set([
  'ContainerEventResponse.containers_statuses',
  'PodSandboxStatusResponse.containers_statuses',
  'LinuxPodSandboxStats.containers',
]);

/**
 * The text of `cri-api.ts`: the methods, and every message and enum that these need, without those for Windows.
 *
 * @param proto `pkg/apis/runtime/v1/api.proto` of k8s.io/cri-api
 */
export function generateCRIAPI(
  proto: string,
  version: string,
  called: Readonly<Record<string, readonly string[]>> = methods,
): string {
  const { root } = protobuf.parse(proto, { keepCase: true });
  root.resolveAll();
  const messages = new Map<string, string>();
  const enums = new Map<string, string>();

  const add = (type: protobuf.Type): void => {
    if (messages.has(type.name)) return;
    messages.set(type.name, ''); // Ends the recursion of types that hold themselves.
    const fields = type.fieldsArray.filter(
      ({ name, type: fieldType }) => !skippedFields.has(`${type.name}.${name}`) && !fieldType.startsWith('Windows'),
    );
    messages.set(type.name, fields.map((field) => `${field.name}: [${field.id}, '${typeOf(field)}']`).join(', '));
    for (const { resolvedType } of fields) {
      if (resolvedType instanceof protobuf.Type) add(resolvedType);
      else if (resolvedType) enums.set(resolvedType.name, valuesOf(resolvedType));
    }
  };
  const rows = Object.entries(called).flatMap(([service, names]) =>
    names.map((name) => {
      const {
        resolvedRequestType: request,
        resolvedResponseType: response,
        responseStream,
      } = root.lookupService(service).methods[name]!;
      for (const type of [request!, response!]) add(type);
      return responseStream ? '' : `  ${name}: ['${service}', '${request!.name}', '${response!.name}'],\n`;
    }),
  );
  const tableOf = (entries: ReadonlyMap<string, string>): string =>
    Array.from(entries, ([name, text]) => `  ${name}: {${text && ` ${text} `}},\n`).join('');

  return `// Generated from k8s.io/cri-api ${version} by \`npm run generated -- --write\`. Do not edit.

/** Name → number. */
export const criEnums = {
${tableOf(enums)}} as const;

/** Field → its number and type. A field that is not here is not sent, and is skipped when it is received. */
export const criMessages = {
${tableOf(messages)}} as const;

/** Method with one response → its service, request and response. */
export const criMethods = {
${rows.join('')}} as const;
`;
}

function typeOf(field: protobuf.Field): string {
  const type = field.resolvedType?.name ?? field.type;
  return field.map ? `map ${type}` : field.repeated ? `repeated ${type}` : type;
}

const valuesOf = ({ values }: protobuf.Enum): string =>
  Object.entries(values)
    .map(([name, value]) => `${name}: ${value}`)
    .join(', ');
