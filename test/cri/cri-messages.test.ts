import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import protobuf from 'protobufjs';
import { describe, expect, it } from 'vitest';
import { criEnums, criMessages, criMethods } from '../../src/cri/cri-messages.ts';

/** api.proto of the newest k8s.io/cri-api in the Go module cache. */
function findProto(): string | undefined {
  const modules = join(
    process.env['GOMODCACHE'] ?? join(process.env['GOPATH'] ?? join(homedir(), 'go'), 'pkg/mod'),
    'k8s.io',
  );
  const versions = existsSync(modules) ? readdirSync(modules).filter((name) => name.startsWith('cri-api@')) : [];
  const newest = versions.toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true })).at(-1);
  return newest && join(modules, newest, 'pkg/apis/runtime/v1/api.proto');
}

const proto = findProto();

// Names are flat in our tables: the enum of SecurityProfile is ProfileType.
describe.skipIf(proto === undefined)(
  'the messages of the CRI (skipped without k8s.io/cri-api in the Go module cache)',
  () => {
    const { root } = protobuf.parse(proto === undefined ? 'syntax = "proto3";' : readFileSync(proto, 'utf8'), {
      keepCase: true,
    });
    root.resolveAll();

    it.each(Object.entries<Readonly<Record<string, readonly [number, string]>>>(criMessages))(
      '%s has the numbers and types of api.proto',
      (name, fields) => {
        const { fields: theirs } = root.lookupType(`runtime.v1.${name}`);
        const rows = Object.keys(fields).map((field) => {
          const { id, type, repeated, map, resolvedType } = theirs[field]!;
          const typeName = resolvedType?.name ?? type;
          return [field, [id, map ? `map ${typeName}` : repeated ? `repeated ${typeName}` : typeName]];
        });
        expect(fields).toEqual(Object.fromEntries(rows));
      },
    );

    it.each(Object.entries(criEnums))('%s has the values of api.proto', (name, values) => {
      const find = (scope: protobuf.NamespaceBase): protobuf.Enum[] =>
        scope.nestedArray.flatMap((nested) =>
          nested instanceof protobuf.Enum ? [nested] : nested instanceof protobuf.Namespace ? find(nested) : [],
        );
      expect(values).toEqual(find(root).find((one) => one.name === name)?.values);
    });

    it.each(Object.entries(criMethods))(
      '%s has the request and response of api.proto',
      (method, [service, request, response]) => {
        const theirs = root.lookupService(`runtime.v1.${service}`).methods[method];
        expect([theirs?.requestType, theirs?.responseType, theirs?.responseStream]).toEqual([
          request,
          response,
          undefined,
        ]);
      },
    );
  },
);
