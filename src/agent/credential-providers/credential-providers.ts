import { LRUCache } from '../../shared/lru-cache.ts';
import type { Clock } from '../../shared/clock.ts';
import { type Logger, reasonOf } from '../../shared/logger.ts';
import {
  lookupCredentials,
  matchesRegistry,
  parseImageName,
  type PullCredentials,
  type KeyringEntry,
  registryOf,
  splitRepository,
} from '../../node/index.ts';
import type { CredentialProviderResponse } from './exec-plugin.ts';
import type { CredentialProvider } from './provider-config.ts';

/** Pods choose the images, so their number is bounded. */
const maxCacheEntries = 1000;

export interface CredentialProvidersOptions {
  readonly providers: readonly CredentialProvider[];
  /** See `execPlugin`. */
  readonly execPlugin: (provider: CredentialProvider, image: string) => Promise<CredentialProviderResponse>;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly logger: Logger;
}

/**
 * Credentials of the node for images, from plugins, which get them from a cloud, for example. All pods may use them. Source:
 * kubelet `externalCredentialProviderKeyring`.
 */
export class CredentialProviders {
  readonly #providers: readonly PluginProvider[];

  constructor({ providers, ...options }: CredentialProvidersOptions) {
    this.#providers = providers.map((provider) => new PluginProvider(provider, options));
  }

  /**
   * If a plugin fails, that is logged, and the image is pulled without its credentials: it may be public. @throws ImageError
   * InvalidImageName
   */
  async credentialsFor(image: string): Promise<readonly PullCredentials[]> {
    const repository = parseImageName(image);
    const entries = await Promise.all(this.#providers.map((provider) => provider.provide(repository)));
    return lookupCredentials(entries.flat(), splitRepository(repository));
  }
}

interface CacheEntry {
  readonly expiresAtMs: number;
  readonly entries: readonly KeyringEntry[];
}

/** One plugin. Source: kubelet `pluginProvider`. */
class PluginProvider {
  readonly #provider: CredentialProvider;
  readonly #options: Omit<CredentialProvidersOptions, 'providers'>;
  /** By image, registry or `<global>`. */
  readonly #cache = new LRUCache<CacheEntry>(maxCacheEntries);
  /** Images that the plugin is being asked for. */
  readonly #inProgress = new Map<string, Promise<readonly KeyringEntry[]>>();

  constructor(provider: CredentialProvider, options: Omit<CredentialProvidersOptions, 'providers'>) {
    this.#provider = provider;
    this.#options = options;
  }

  async provide(image: string): Promise<readonly KeyringEntry[]> {
    const target = splitRepository(image);
    if (!this.#provider.matchImages.some((registry) => matchesRegistry(registry, target))) return [];
    const keys = [image, target.host, globalCacheKey];
    const cached = keys.map((key) => this.#cached(key)).find((entries) => entries !== undefined);
    if (cached !== undefined) return cached;
    const asking = this.#inProgress.get(image) ?? this.#ask(image).finally(() => this.#inProgress.delete(image));
    this.#inProgress.set(image, asking);
    return asking.catch((error: unknown) => {
      const fields = { provider: this.#provider.name, image, reason: reasonOf(error) };
      this.#options.logger.error(fields, 'Failed to get credentials for an image');
      return [];
    });
  }

  #cached(key: string): readonly KeyringEntry[] | undefined {
    const entry = this.#cache.get(key);
    return entry === undefined || this.#options.clock.monotonicMs() > entry.expiresAtMs ? undefined : entry.entries;
  }

  async #ask(image: string): Promise<readonly KeyringEntry[]> {
    const { execPlugin, clock } = this.#options;
    const { defaultCacheDurationMs } = this.#provider;
    const { cacheKeyType, cacheDurationMs = defaultCacheDurationMs, auth } = await execPlugin(this.#provider, image);
    const entries = auth.map(([address, credentials]) => ({ registry: registryOf(address), credentials }));
    if (cacheDurationMs === 0) return entries;
    const key = { Image: image, Registry: splitRepository(image).host, Global: globalCacheKey }[cacheKeyType];
    this.#cache.set(key, { expiresAtMs: clock.monotonicMs() + cacheDurationMs, entries });
    return entries;
  }
}

/** Not the name of an image. */
const globalCacheKey = '<global>';
