import { APIError, describeAPIError } from './api-error.ts';
import type { APIRequests } from './api-requests.ts';
import type { Observable } from './raw-response-middleware.ts';
import { isSuccess } from './response-body.ts';
import { isObject, parseJSON } from '../../shared/json.ts';

/** What is used of client-node's `RequestContext`. */
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

/** What is used of the `Configuration` that client-node makes for each of its APIs. */
interface Configuration {
  readonly baseServer: { makeRequestContext(path: string, method: never): RequestContext };
  readonly httpApi: { send(context: RequestContext): Observable<ResponseContext> };
  readonly authMethods: {
    readonly default?: { applySecurityAuthentication(context: RequestContext): void | Promise<void> };
  };
}

/** A `KubeConfig` of client-node, 1.4 or 2.x, by what is used of it. */
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

/** Stands for one of client-node's APIs, which get their configuration like this. */
class ConfigurationReader {
  readonly configuration: Configuration;

  constructor(configuration: Configuration) {
    this.configuration = configuration;
  }
}
