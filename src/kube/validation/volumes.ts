import { quantityNanos } from '../objects/quantity.ts';
import {
  duplicateValue,
  type FieldError,
  forbiddenValue,
  invalidValue,
  notFoundValue,
  requiredValue,
} from './field-error.ts';
import { isJSONObject, type JSONObject, objectOf, objectsOf, stringOf } from '../objects/json-object.ts';
import {
  validateDescendingPath,
  validateDomainLabel,
  validateEnum,
  validateNoBackSteps,
  validateRequired,
} from './rules.ts';

/** Required fields of each volume source; other sources are only checked for their types. */
const requiredFields: { readonly [source: string]: readonly string[] } = {
  hostPath: ['path'],
  secret: ['secretName'],
  configMap: ['name'],
  persistentVolumeClaim: ['claimName'],
  nfs: ['server', 'path'],
  csi: ['driver'],
  iscsi: ['targetPortal', 'iqn'],
  rbd: ['monitors', 'image'],
  cephfs: ['monitors'],
  glusterfs: ['endpoints', 'path'],
  flexVolume: ['driver'],
  azureFile: ['secretName', 'shareName'],
  azureDisk: ['diskName', 'diskURI'],
  gcePersistentDisk: ['pdName'],
  awsElasticBlockStore: ['volumeID'],
  cinder: ['volumeID'],
  vsphereVolume: ['volumePath'],
  photonPersistentDisk: ['pdID'],
  portworxVolume: ['volumeID'],
  quobyte: ['registry', 'volume'],
  scaleIO: ['gateway', 'system', 'volumeName'],
  gitRepo: ['repository'],
  image: ['reference'],
  ephemeral: ['volumeClaimTemplate'],
};
const hostPathTypes = [
  '',
  'BlockDevice',
  'CharDevice',
  'Directory',
  'DirectoryOrCreate',
  'File',
  'FileOrCreate',
  'Socket',
];
const propagations = ['Bidirectional', 'HostToContainer', 'None'];

/** Source: `ValidateVolumes`. */
export function validateVolumes(spec: JSONObject): FieldError[] {
  const names = new Set<unknown>();
  return objectsOf(spec, 'volumes').flatMap((volume, i) => {
    const field = `spec.volumes[${i}]`;
    const { name } = volume;
    const causes = name === '' ? [requiredValue(`${field}.name`)] : validateDomainLabel(String(name), `${field}.name`);
    if (names.has(name)) causes.push(duplicateValue(`${field}.name`, name));
    else names.add(name);
    const [source = '', ...more] = Object.keys(volume).filter((name) => name !== 'name' && name in sourceOrder);
    for (const other of more)
      causes.push(forbiddenValue(`${field}.${other}`, 'may not specify more than 1 volume type'));
    return [...causes, ...validateSource(source, objectOf(volume, source), `${field}.${source}`, spec)];
  });
}

const sourceOrder: { readonly [source: string]: true } = Object.fromEntries(
  [...Object.keys(requiredFields), 'emptyDir', 'downwardAPI', 'projected', 'fc', 'flocker', 'storageos'].map((one) => [
    one,
    true,
  ]),
);

function validateSource(source: string, value: JSONObject, field: string, spec: JSONObject): FieldError[] {
  const causes = validateRequired(value, requiredFields[source] ?? [], field);
  switch (source) {
    case 'emptyDir': {
      const isNegative = (quantityNanos(stringOf(value, 'sizeLimit') || '0') ?? 0n) < 0n;
      const because = 'SizeLimit field must be a valid resource quantity';
      return isNegative ? [forbiddenValue(`${field}.sizeLimit`, because)] : causes;
    }
    case 'hostPath':
      return [
        ...causes,
        ...validateNoBackSteps(stringOf(value, 'path'), `${field}.path`),
        ...(value.type === '' ? [] : validateEnum(value.type, hostPathTypes, `${field}.type`)),
      ];
    case 'nfs':
      if (stringOf(value, 'path').startsWith('/')) return causes;
      return [...causes, invalidValue(`${field}.path`, value.path ?? '', 'must be an absolute path')];
    case 'secret':
    case 'configMap':
    case 'downwardAPI':
      return [...causes, ...validateFiles(value, field)];
    case 'projected':
      return [...causes, ...validateFiles(value, field), ...validateProjections(value, field, spec)];
    default:
      return causes;
  }
}

function validateFiles(value: JSONObject, field: string): FieldError[] {
  return [
    ...validateMode(value.defaultMode, `${field}.defaultMode`),
    ...objectsOf(value, 'items').flatMap((item, i) => [
      ...('key' in item ? validateRequired(item, ['key'], `${field}.items[${i}]`) : []),
      ...validateRequired(item, ['path'], `${field}.items[${i}]`),
      ...validateDescendingPath(stringOf(item, 'path'), `${field}.items[${i}].path`),
      ...validateMode(item.mode, `${field}.items[${i}].mode`),
    ]),
  ];
}

function validateMode(mode: unknown, field: string): FieldError[] {
  if (mode === undefined || (Number(mode) >= 0 && Number(mode) <= 0o777)) return [];
  return [invalidValue(field, mode, 'must be a number between 0 and 0777 (octal), both inclusive')];
}

function validateProjections(value: JSONObject, field: string, spec: JSONObject): FieldError[] {
  return objectsOf(value, 'sources').flatMap((source, i) => {
    const at = `${field}.sources[${i}]`;
    const causes: FieldError[] = [];
    for (const name of ['secret', 'configMap']) {
      const one = source[name];
      if (isJSONObject(one))
        causes.push(...validateRequired(one, ['name'], `${at}.${name}`), ...validateFiles(one, at));
    }
    const token = source.serviceAccountToken;
    if (!isJSONObject(token)) return causes;
    if (stringOf(spec, 'serviceAccountName') === '') {
      const because = 'must not be specified when serviceAccountName is not set';
      causes.push(forbiddenValue(`${at}.serviceAccountToken`, because));
    }
    return [...causes, ...validateRequired(token, ['path'], `${at}.serviceAccountToken`)];
  });
}

/** Source: `ValidateVolumeMounts`. */
export function validateVolumeMounts(
  container: JSONObject,
  field: string,
  volumes: ReadonlySet<unknown>,
): FieldError[] {
  const paths = new Set<unknown>();
  return objectsOf(container, 'volumeMounts').flatMap((mount, i) => {
    const at = `${field}.volumeMounts[${i}]`;
    // kube-apiserver omits the index in some of these paths.
    const list = `${field}.volumeMounts`;
    const causes = validateRequired(mount, ['name', 'mountPath'], at);
    if (!volumes.has(mount.name)) causes.push(notFoundValue(`${at}.name`, mount.name));
    if (paths.has(mount.mountPath)) causes.push(invalidValue(`${at}.mountPath`, mount.mountPath, 'must be unique'));
    paths.add(mount.mountPath);
    const [subPath, expression] = [stringOf(mount, 'subPath'), stringOf(mount, 'subPathExpr')];
    causes.push(...validateDescendingPath(subPath, `${list}.subPath`));
    if (subPath !== '' && expression !== '') {
      causes.push(invalidValue(`${at}.subPathExpr`, expression, 'subPathExpr and subPath are mutually exclusive'));
    }
    causes.push(...validateDescendingPath(expression, `${list}.subPathExpr`));
    if (mount.mountPropagation !== undefined) {
      causes.push(...validateEnum(mount.mountPropagation, propagations, `${list}.mountPropagation`));
    }
    if (['Enabled', 'IfPossible'].includes(stringOf(mount, 'recursiveReadOnly')) && mount.readOnly !== true) {
      causes.push(forbiddenValue(`${list}.recursiveReadOnly`, 'may only be specified when readOnly is true'));
    }
    return causes;
  });
}
