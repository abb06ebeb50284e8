import { APIError, describeAPIError } from './api-error.ts';
import type { APIRequests } from './api-requests.ts';
import type { Observable } from './raw-response-middleware.ts';
import { isSuccess } from './response-body.ts';
import { isObject, parseJSON } from '../../shared/json.ts';

/** The subset of client-node's `RequestContext` that is used. */
interface RequestContext {
  setQueryParam(name: string, value: string): void;
  setHeaderParam(name: string, value: string): void;
  setBody(body: string): void;
  setSignal(signal: AbortSignal): void;
}

interface ResponseContext {
  readonly httpStatusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: { text(): Promise<string> };
}

/** The subset of the `Configuration` that client-node creates for each of its APIs. */
interface Configuration {
  readonly baseServer: { makeRequestContext(path: string, method: never): RequestContext };
  readonly httpApi: { send(context: RequestContext): Observable<ResponseContext> };
  readonly authMethods: {
    readonly default?: { applySecurityAuthentication(context: RequestContext): void | Promise<void> };
  };
}

/** The subset of client-node's `KubeConfig` (1.4 or 2.x) that is used. */
export interface ApiClientMaker {
  /** Takes any constructor: those of client-node's APIs take its `Configuration`. */
  makeApiClient(apiClientType: new (configuration: never) => never): unknown;
}

export function isApiClientMaker(value: unknown): value is ApiClientMaker {
  return isObject(value) && typeof value['makeApiClient'] === 'function';
}

/** Sends any request the way that client-node's own APIs do, with the credentials of the kubeconfig. */
export function requestsOfKubeConfig(kubeConfig: ApiClientMaker): APIRequests {
  const configuration = readConfiguration(kubeConfig);
  return {
    async request(method, path, { query = {}, body, contentType = 'application/json', signal } = {}) {
      const { baseServer, httpApi, authMethods } = configuration;
      const context = baseServer.makeRequestContext(path, method as never);
      for (const [name, value] of Object.entries(query)) context.setQueryParam(name, value);
      context.setHeaderParam('Accept', 'application/json');
      if (body !== undefined) {
        context.setHeaderParam('Content-Type', contentType);
        context.setBody(JSON.stringify(body));
      }
      if (signal !== undefined) context.setSignal(signal);
      const { statusCode, headers, text } = await send(async () => {
        await authMethods.default?.applySecurityAuthentication(context);
        return httpApi.send(context).toPromise();
      });
      if (!isSuccess(statusCode)) throw describeAPIError({ statusCode, headers, body: text });
      return { json: () => parseResponse(text) };
    },
  };
}

async function send(call: () => Promise<ResponseContext>) {
  try {
    const { httpStatusCode: statusCode, headers, body } = await call();
    return { statusCode, headers, text: await body.text() };
  } catch (error) {
    throw describeAPIError(error);
  }
}

function parseResponse(text: string): unknown {
  const value = parseJSON(text);
  if (value === undefined) throw new APIError('the response is not JSON', { kind: 'invalid-response' });
  return value;
}

function readConfiguration(kubeConfig: ApiClientMaker): Configuration {
  return (kubeConfig.makeApiClient(ConfigurationReader as never) as ConfigurationReader).configuration;
}

/** Passed as an API class to `makeApiClient`, to obtain the configuration. */
class ConfigurationReader {
  readonly configuration: Configuration;

  constructor(configuration: Configuration) {
    this.configuration = configuration;
  }
}
