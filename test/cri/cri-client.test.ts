import { join } from 'node:path';
import { type sendUnaryData, Server, ServerCredentials, type ServerUnaryCall } from '@grpc/grpc-js';
import { afterEach, describe, expect, it } from 'vitest';
import { criEnums, criMessages } from '../../src/cri/cri-api.ts';
import { CRIClient } from '../../src/cri/cri-client.ts';
import { CRIError, hasCode, undefinedIfNotFound, withGoMessage } from '../../src/cri/cri-error.ts';
import { createCodecs } from '../../src/cri/message-codec.ts';
import { TestDirectories } from '../support/directories.ts';

const directories = new TestDirectories();
const servers: Server[] = [];
const clients: CRIClient[] = [];
afterEach(() => {
  for (const client of clients.splice(0)) client.close();
  for (const server of servers.splice(0)) server.forceShutdown();
  directories.removeAll();
});

const errorOf = (code: number, details: string, message = ''): CRIError => new CRIError({ code, details, message });

describe('CRIError', () => {
  it.each([
    [1, 'Canceled'],
    [2, 'Unknown'],
    [3, 'InvalidArgument'],
    [4, 'DeadlineExceeded'],
    [5, 'NotFound'],
    [9, 'FailedPrecondition'],
    [14, 'Unavailable'],
    [99, 'Code(99)'],
  ])('names the code %i as Go does: %s', (code, name) => {
    const error = errorOf(code, 'no such container');
    expect(error.code).toBe(name);
    expect(error.message).toBe('no such container');
    expect(error.goMessage).toBe(`rpc error: code = ${name} desc = no such container`);
    expect(hasCode(error, name)).toBe(true);
    expect(hasCode(error, 'OK')).toBe(false);
    expect(hasCode(new Error(name), name)).toBe(false);
  });

  it('has the text of grpc-js where the runtime gives none, without its empty note', () => {
    expect(errorOf(14, '', '14 UNAVAILABLE: gone').message).toBe('14 UNAVAILABLE: gone');
    expect(errorOf(14, 'No connection established. Resolution note: ').message).toBe('No connection established');
    expect(errorOf(14, 'a. Resolution note: b').message).toBe('a. Resolution note: b');
  });
});

it('undefinedIfNotFound hides that something is gone, and nothing else', async () => {
  await expect(undefinedIfNotFound(Promise.resolve(1))).resolves.toBe(1);
  await expect(undefinedIfNotFound(Promise.reject(errorOf(5, 'gone')))).resolves.toBeUndefined();
  const [refused, other] = [errorOf(9, 'no'), new Error('NotFound')];
  await expect(undefinedIfNotFound(Promise.reject(refused))).rejects.toBe(refused);
  await expect(undefinedIfNotFound(Promise.reject(other))).rejects.toBe(other);
});

it('withGoMessage rejects with the text of Go, and the error of the runtime as the cause', async () => {
  expect(await withGoMessage(Promise.resolve(1))).toBe(1);
  const [refused, other] = [errorOf(9, 'no'), new Error('other')];
  await expect(withGoMessage(Promise.reject(refused))).rejects.toMatchObject({
    message: 'rpc error: code = FailedPrecondition desc = no',
    cause: refused,
  });
  await expect(withGoMessage(Promise.reject(other))).rejects.toBe(other);
});

describe('CRIClient', () => {
  const codecs = createCodecs(criMessages, criEnums);
  type Call = ServerUnaryCall<object, object>;

  /** A client of a runtime that implements `Version` only. */
  async function clientOf(version: (call: Call, respond: sendUnaryData<object>) => void): Promise<CRIClient> {
    const server = new Server();
    servers.push(server);
    server.addService(
      {
        Version: {
          path: '/runtime.v1.RuntimeService/Version',
          ...{ requestStream: false, responseStream: false },
          requestSerialize: codecs.VersionRequest.encode,
          requestDeserialize: codecs.VersionRequest.decode,
          responseSerialize: codecs.VersionResponse.encode,
          responseDeserialize: codecs.VersionResponse.decode,
        },
      },
      { Version: version },
    );
    const endpoint = `unix://${join(directories.create(), 'runtime.sock')}`;
    await new Promise<void>((resolve, reject) => {
      server.bindAsync(endpoint, ServerCredentials.createInsecure(), (error) => (error ? reject(error) : resolve()));
    });
    const client = new CRIClient(endpoint);
    clients.push(client);
    return client;
  }

  it('calls the runtime, and knows whether it is connected', async () => {
    const requests: object[] = [];
    const client = await clientOf(({ request }, respond) => {
      requests.push(request);
      respond(null, { runtime_name: 'containerd', runtime_version: '2' });
    });
    expect(client.isConnected).toBe(false);
    expect(await client.call('Version', { version: 'v1' })).toEqual({
      ...{ version: '', runtime_name: 'containerd', runtime_version: '2', runtime_api_version: '' },
    });
    expect(requests).toEqual([{ version: 'v1' }]);
    expect(client.isConnected).toBe(true);
  });

  it('rejects with the error of the runtime', async () => {
    const client = await clientOf((_, respond) => respond({ code: 5, details: 'gone' }));
    await expect(client.call('Version', {})).rejects.toMatchObject({
      name: 'CRIError',
      code: 'NotFound',
      message: 'gone',
    });
    await expect(client.call('Status', {})).rejects.toMatchObject({ code: 'Unimplemented' });
  });

  it('a signal ends a call with its reason', async () => {
    const client = await clientOf(() => {});
    const abort = new AbortController();
    const calling = client.call('Version', {}, { signal: abort.signal });
    setImmediate(() => abort.abort(new Error('enough')));
    await expect(calling).rejects.toThrow('enough');
    const aborted = AbortSignal.abort(new Error('too late'));
    await expect(client.call('Version', {}, { signal: aborted })).rejects.toThrow('too late');
  });

  it('close ends the calls', async () => {
    const client = await clientOf(() => {});
    const calling = client.call('Version', {});
    await expect.poll(() => client.isConnected).toBe(true);
    client.close();
    for (const server of servers.splice(0)) server.forceShutdown();
    await expect(calling).rejects.toBeInstanceOf(CRIError);
  });
});
