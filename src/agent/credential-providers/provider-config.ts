import { refuseOption } from '../../shared/errors.ts';
import { isObject, type Raw } from '../../shared/json.ts';
import { type KeyringRegistry, splitRepository } from '../../node/index.ts';
import { parseGoDuration } from '../../shared/go-duration.ts';

/** A plugin, from the configuration. Source: kubelet.config.k8s.io/v1 `CredentialProvider`. */
export interface CredentialProvider {
  /** The name of the program in the folder of the plugins. */
  readonly name: string;
  /** The version of its requests and responses. */
  readonly apiVersion: string;
  readonly matchImages: readonly KeyringRegistry[];
  readonly defaultCacheDurationMs: number;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

const configVersions = ['v1', 'v1beta1', 'v1alpha1'].map((version) => `kubelet.config.k8s.io/${version}`);
const pluginVersions = ['v1', 'v1beta1', 'v1alpha1'].map((version) => `credentialprovider.kubelet.k8s.io/${version}`);
const providerFields = ['name', 'apiVersion', 'matchImages', 'defaultCacheDuration', 'args', 'env', 'tokenAttributes'];

/**
 * The plugins of these configurations, in their order. Source: kubelet `readCredentialProviderConfig`,
 * `validateCredentialProviderConfig`.
 *
 * Divergence: a plugin that needs tokens of service accounts is refused.
 * @param configs each the content of a file of kind `CredentialProviderConfig`
 * @throws StatusManagerError INVALID_OPTION that names the field
 */
export function readCredentialProviders(configs: readonly unknown[]): readonly CredentialProvider[] {
  const providers = configs.flatMap((config, index) => readConfig(config, `credentialProviders.configs[${index}]`));
  if (providers.length === 0) refuseOption('credentialProviders.configs', 'a list with at least one provider');
  const names = new Set<string>();
  for (const { name } of providers) {
    if (names.has(name)) refuseOption('credentialProviders.configs', `without two providers of the name ${name}`);
    names.add(name);
  }
  return providers;
}

function readConfig(config: unknown, path: string): readonly CredentialProvider[] {
  const { kind, apiVersion, providers } = requireObject(config, path, ['kind', 'apiVersion', 'providers']);
  if (kind !== 'CredentialProviderConfig') refuseOption(`${path}.kind`, 'CredentialProviderConfig', kind);
  requireOneOf(apiVersion, `${path}.apiVersion`, configVersions);
  if (!Array.isArray(providers)) return refuseOption(`${path}.providers`, 'a list', providers);
  return providers.map((provider, index) => readProvider(provider, `${path}.providers[${index}]`));
}

function readProvider(provider: unknown, path: string): CredentialProvider {
  const fields = requireObject(provider, path, providerFields);
  const { name, apiVersion, matchImages, defaultCacheDuration, args = [], env = [], tokenAttributes } = fields;
  if (typeof name !== 'string' || ['', '.', '..'].includes(name) || /[/ \0]/.test(name))
    return refuseOption(`${path}.name`, 'the name of a program, without "/" and spaces', name);
  if (tokenAttributes !== undefined)
    refuseOption(`${path}.tokenAttributes`, 'absent: no plugin gets tokens of service accounts');
  const durationMs = typeof defaultCacheDuration === 'string' ? parseGoDuration(defaultCacheDuration) : undefined;
  if (durationMs === undefined)
    return refuseOption(`${path}.defaultCacheDuration`, 'a duration like 12h or 0s', defaultCacheDuration);
  const images = requireTexts(matchImages, `${path}.matchImages`);
  if (images.length === 0) refuseOption(`${path}.matchImages`, 'a list with at least one image');
  return {
    name,
    apiVersion: requireOneOf(apiVersion, `${path}.apiVersion`, pluginVersions),
    matchImages: images.map((image) => splitRepository(image)),
    defaultCacheDurationMs: durationMs,
    args: requireTexts(args, `${path}.args`),
    env: readEnv(env, `${path}.env`),
  };
}

function readEnv(env: unknown, path: string): Readonly<Record<string, string>> {
  if (!Array.isArray(env)) return refuseOption(path, 'a list of { name, value }', env);
  const entries = env.map((variable, index) => {
    const { name, value } = requireObject(variable, `${path}[${index}]`, ['name', 'value']);
    if (typeof name !== 'string' || name === '') return refuseOption(`${path}[${index}].name`, 'a text');
    // Without the value, which may be a secret.
    if (typeof value !== 'string') return refuseOption(`${path}[${index}].value`, 'a text');
    return [name, value] as const;
  });
  return Object.fromEntries(entries);
}

function requireObject(value: unknown, path: string, fields: readonly string[]): Raw {
  if (!isObject(value)) return refuseOption(path, 'an object', value);
  const unknownField = Object.keys(value).find((field) => !fields.includes(field));
  if (unknownField !== undefined)
    refuseOption(`${path}.${unknownField}`, `absent: there are only ${fields.join(', ')}`);
  return value;
}

function requireOneOf(value: unknown, path: string, texts: readonly string[]): string {
  return texts.find((text) => text === value) ?? refuseOption(path, texts.join(' or '), value);
}

function requireTexts(value: unknown, path: string): readonly string[] {
  if (!Array.isArray(value) || !value.every((each) => typeof each === 'string'))
    return refuseOption(path, 'a list of texts', value);
  return value;
}
