import { isObject } from '../../shared/json.ts';

/** What client-node asks of an `Observable`. */
export interface Observable<Value> {
  toPromise(): Promise<Value>;
}

/** What is used of the `Configuration` that a `CoreV1Api` of client-node was made with. */
export interface GeneratedConfiguration {
  /** Sends a request; replaced for each of our calls when it is client-node's own. */
  readonly httpApi: { send(context: unknown): Observable<unknown> };
  /** What the caller added to all requests. */
  readonly middleware: readonly unknown[];
}

/**
 * The configuration of a real `CoreV1Api`, 1.4 or 2.x, which keeps it in members that its types call
 * private. Undefined for a mock, and should they ever be others: then nothing is replaced.
 */
export function generatedConfiguration(api: unknown): GeneratedConfiguration | undefined {
  const inner = isObject(api) ? api['api'] : undefined;
  const configuration = isObject(inner) ? inner['configuration'] : undefined;
  if (!isObject(configuration)) return undefined;
  const { httpApi, middleware } = configuration;
  return isObject(httpApi) && typeof httpApi['send'] === 'function' && Array.isArray(middleware)
    ? (configuration as unknown as GeneratedConfiguration)
    : undefined;
}

/** True when requests go out the way that client-node brings along, not one of the caller's. */
export function sendsByDefault({ httpApi }: GeneratedConfiguration): boolean {
  return httpApi.constructor.name === 'IsomorphicFetchHttpLibrary' && !Object.hasOwn(httpApi, 'send');
}
