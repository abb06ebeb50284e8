import type { Clock } from '../../shared/clock.ts';
import { timeFromEpochMs } from '../../shared/time.ts';
import { badRequest, conflict, invalid, notFound } from '../api-status.ts';
import { type FieldError, invalidValue } from '../../kube/validation/field-error.ts';
import { decodeKind, namespaceMismatch } from '../storage/decode-object.ts';
import { isJSONObject, type JSONObject, stringOf } from '../../kube/objects/json-object.ts';
import { specOf, type StoredObject } from '../storage/objects.ts';
import type { Request } from '../registry.ts';
import { resourceNamed } from '../resources/resources.ts';
import { type BoundObjects, issuer, type ServiceAccountTokens } from './token-issuer.ts';
import type { ObjectStore } from '../storage/store.ts';
import type { Target } from '../http/target.ts';

const defaultExpirationSeconds = 3600;
const minExpirationSeconds = 600;
const maxExpirationSeconds = 2 ** 32;
/** What a token can be bound to. */
const boundResources = new Map([
  ['Pod', 'pods'],
  ['Node', 'nodes'],
  ['Secret', 'secrets'],
]);
const subject = { group: 'authentication.k8s.io', resource: 'TokenRequest', kind: 'TokenRequest' };

/** Responds to POST to `serviceaccounts/token`. Source: `registry/core/serviceaccount/storage` `TokenREST`. */
export class TokenRequests {
  readonly #store: ObjectStore;
  readonly #clock: Clock;
  readonly #tokens: ServiceAccountTokens;

  constructor(store: ObjectStore, clock: Clock, tokens: ServiceAccountTokens) {
    this.#store = store;
    this.#clock = clock;
    this.#tokens = tokens;
  }

  /** The TokenRequest with a token. @throws APIStatusError */
  create(target: Target, body: JSONObject, request: Request): object {
    const { namespace, name } = target;
    const { metadata, spec: sent } = decodeKind('TokenRequest', body) as { metadata: JSONObject; spec: JSONObject };
    const next = { kind: subject.kind, apiVersion: `${subject.group}/v1`, metadata, spec: sent };
    request.admit({ operation: 'create', target, next: next as unknown as StoredObject, old: undefined });
    const account = this.#account(target, metadata);
    const spec = specWithDefaults(sent);
    const causes = validateSpec(spec);
    if (causes.length > 0) throw invalid(subject, '', causes);
    const { audiences, expirationSeconds, boundObjectRef: reference } = spec;
    const bound = isJSONObject(reference) ? this.#boundObjects(target, reference) : {};
    const nowMs = this.#clock.now();
    const { uid } = account.metadata;
    return {
      ...next,
      metadata: { ...metadata, name, namespace, uid, creationTimestamp: timeFromEpochMs(nowMs) },
      spec,
      status: {
        token: this.#tokens.issue(account, bound, { audiences, nowMs, expirationSeconds }),
        expirationTimestamp: timeFromEpochMs(nowMs + expirationSeconds * 1000),
      },
    };
  }

  /** The ServiceAccount of the URL. The body may name it again. */
  #account({ definition, namespace, name }: Target, sent: JSONObject): StoredObject {
    const [sentNamespace, sentName, sentUID] = ['namespace', 'name', 'uid'].map((field) => stringOf(sent, field));
    if (sentNamespace !== '' && sentNamespace !== namespace) throw namespaceMismatch();
    if (sentName !== '' && sentName !== name) {
      const because = 'must match the service account name if specified';
      throw invalid(subject, name, [invalidValue('metadata.name', sentName, because)]);
    }
    const account = this.#store.get('serviceaccounts', namespace, name);
    if (account === undefined) throw notFound(definition, name);
    const { uid } = account.metadata;
    if (sentUID === '' || sentUID === uid) return account;
    const because = `the UID in the token request (${sentUID}) does not match the UID of the service account (${uid})`;
    throw conflict(subject, name, because);
  }

  #boundObjects({ namespace, name: account }: Target, reference: JSONObject): BoundObjects {
    const [apiVersion = '', kind = '', name = ''] = ['apiVersion', 'kind', 'name'].map((field) =>
      stringOf(reference, field),
    );
    const resource = apiVersion.includes('/') ? undefined : boundResources.get(kind);
    if (resource === undefined) throw badRequest(`cannot bind token to object of type ${apiVersion}, Kind=${kind}`);
    const object = this.#store.get(resource, resource === 'nodes' ? '' : namespace, name);
    if (object === undefined) throw notFound(resourceNamed('', 'v1', resource)!, name);
    if (resource === 'pods' && stringOf(specOf(object), 'serviceAccountName') !== account) {
      throw badRequest(
        `cannot bind token for serviceaccount ${JSON.stringify(account)} to pod running with different serviceaccount name.`,
      );
    }
    const { uid } = object.metadata;
    const sentUID = stringOf(reference, 'uid');
    if (sentUID !== '' && sentUID !== uid) {
      const because = `the UID in the bound object reference (${sentUID}) does not match the UID in record. The object might have been deleted and then recreated`;
      throw conflict({ group: '', resource: kind, kind }, name, because);
    }
    return { [kind.toLowerCase()]: { name, uid }, ...(resource === 'pods' ? this.#nodeOf(object) : {}) };
  }

  #nodeOf(pod: StoredObject): BoundObjects {
    const name = stringOf(specOf(pod), 'nodeName');
    const uid = this.#store.get('nodes', '', name)?.metadata.uid;
    return name === '' ? {} : { node: { name, ...(uid !== undefined && { uid }) } };
  }
}

interface TokenSpec extends JSONObject {
  audiences: readonly string[];
  expirationSeconds: number;
}

function specWithDefaults(spec: JSONObject): TokenSpec {
  const audiences = (spec.audiences ?? []) as readonly string[];
  const expirationSeconds = (spec.expirationSeconds ?? defaultExpirationSeconds) as number;
  return { ...spec, audiences: audiences.length === 0 ? [issuer] : audiences, expirationSeconds };
}

/** Source: `ValidateTokenRequest`. */
function validateSpec({ attestations, expirationSeconds }: TokenSpec): FieldError[] {
  if (attestations !== undefined) {
    const because = 'attestations may only be specified with a webhook bound object reference';
    return [invalidValue('spec.attestations', attestations, because)];
  }
  const refuse = (because: string) => [invalidValue('spec.expirationSeconds', expirationSeconds, because)];
  if (expirationSeconds < minExpirationSeconds) return refuse('may not specify a duration less than 10 minutes');
  if (expirationSeconds > maxExpirationSeconds) return refuse('may not specify a duration larger than 2^32 seconds');
  return [];
}
