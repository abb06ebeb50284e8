import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type FieldRow, podSpecFields, type PodSpecStruct } from '../../../src/node/pod-spec/pod-spec-fields.ts';
import { fieldTypes, refusedFields } from '../../../src/node/pod-spec/refused-fields.ts';
import { kubeTypes } from '../../../src/kube/objects/kube-types.ts';
import { virtualNodeFields } from '../../../src/virtual-nodes/capabilities/virtual-node-fields.ts';
import { generatePodSpecDocument } from '../../generated/pod-spec-document.ts';
import { repository } from '../../support/repository.ts';

const rows = (Object.entries(podSpecFields) as [PodSpecStruct, Readonly<Record<string, FieldRow>>][]).flatMap(
  ([struct, fields]) => fieldTypes(struct).map(([field, type]) => ({ struct, field, type, row: fields[field]! })),
);

function textOf(path: string): string {
  if (statSync(path).isFile()) return readFileSync(path, 'utf8');
  return readdirSync(path)
    .map((name) => readFileSync(join(path, name), 'utf8'))
    .join('\n');
}

describe('the fields of a pod', () => {
  it('each struct of a field that the agent reads has rows of its own', () => {
    const missing = rows.filter(
      ({ type, row }) => 'honoured' in row && Object.hasOwn(kubeTypes, type) && !Object.hasOwn(podSpecFields, type),
    );
    expect(missing).toEqual([]);
  });

  it('no row is of a field that the API does not have', () => {
    const unknown = Object.entries(podSpecFields).flatMap(([struct, fields]) => {
      const known = new Set(fieldTypes(struct as PodSpecStruct).map(([field]) => field));
      return Object.keys(fields).filter((field) => !known.has(field));
    });
    expect(unknown).toEqual([]);
  });

  const ofVirtualNodes = Object.entries(virtualNodeFields).flatMap(([struct, fields]) =>
    Object.entries(fields).map(([field, row]) => ({ struct, field, row })),
  );

  it.each([
    ['an agent', rows],
    ['a virtual node', ofVirtualNodes],
  ])('what %s honours is named in the file that does it', (_, table) => {
    const wrong = table.filter(({ field, row }) => {
      const done = 'honoured' in row ? row.honoured : 'library' in row ? row.library : undefined;
      if (done === undefined) return false;
      const path = join(repository, 'src', done);
      const file = existsSync(path) ? path : `${path}.ts`;
      // The prober reads `${type}Probe`.
      const name = field.replace(/Probe$/, '');
      return !existsSync(file) || !new RegExp(`\\b${name}\\b`).test(textOf(file));
    });
    expect(wrong.map(({ struct, field }) => `${struct}.${field}`)).toEqual([]);
  });

  it('the table of docs/guides/virtual-nodes.md says of each field who does it, as the tables do', () => {
    const guide = readFileSync(join(repository, 'docs/guides/virtual-nodes.md'), 'utf8');
    const [, table = ''] = guide.split("Who does what a pod's spec says:");
    const shown = [...table.split('\n\n')[1]!.matchAll(/^\| (.*?) +\| (library|provider, if|provider)/gm)].flatMap(
      ([, fields, by]) => [...fields!.matchAll(/`(\w+)`/g)].map(([, field]) => [field, by]),
    );
    const kinds = { library: 'library', provider: 'provider', 'provider, if': 'needs' };
    const wrong = shown.filter(([name, by]) => {
      const fields = ofVirtualNodes.filter(({ field, struct }) => field === name && struct !== 'Volume');
      const volumes = ofVirtualNodes.filter(({ field }) => field === name);
      return !(fields.length > 0 ? fields : volumes).some(({ row }) => kinds[by as keyof typeof kinds] in row);
    });
    expect(wrong).toEqual([]);
    const names = new Set(shown.map(([name]) => name));
    const capabilities = new Set(ofVirtualNodes.flatMap(({ row }) => ('needs' in row ? [row.needs] : [])));
    for (const { struct, field, row } of ofVirtualNodes)
      if ('needs' in row && struct !== 'Volume' && names.has(field)) capabilities.delete(row.needs);
    expect([...capabilities]).toEqual(['volumes']);
  });

  it('docs/internals/pod-spec.md says what the tables say: npm run generated -- --write', () => {
    expect(readFileSync(join(repository, 'docs/internals/pod-spec.md'), 'utf8')).toBe(generatePodSpecDocument());
  });
});

describe('refusedFields', () => {
  it.each(rows.flatMap((row) => ('refused' in row.row ? [{ ...row, ...row.row }] : [])))(
    'finds $struct.$field',
    ({ struct, field, refused, because }) => {
      const expected = [{ path: `x.${field}`, refused, because }];
      expect(refusedFields(struct, { [field]: {} }, 'x')).toEqual(expected);
      expect(refusedFields(struct, { [field]: null }, 'x')).toEqual([]);
    },
  );

  it('names the path of each field, and takes an empty list for none', () => {
    const spec = {
      volumes: [
        { name: 'a', emptyDir: {} },
        { name: 'b', nfs: { server: 's', path: '/' } },
      ],
      containers: [{ name: 'app', volumeDevices: [], volumeMounts: [{ name: 'a', bindMountOptions: ['noexec'] }] }],
      ephemeralContainers: [{ name: 'debug', volumeMounts: [{ name: 'a', bindMountOptions: ['noexec'] }] }],
      unknown: { volumes: [{ nfs: {} }] },
    };
    expect(refusedFields('PodSpec', spec, 'spec').map(({ path }) => path)).toEqual([
      'spec.volumes[1].nfs',
      'spec.containers[0].volumeMounts[0].bindMountOptions',
      'spec.ephemeralContainers[0].volumeMounts[0].bindMountOptions',
    ]);
  });

  it('takes whatever an author wrote', () => {
    for (const spec of [null, 1, 'x', [], { containers: 5 }, { containers: [null, 'x', [{}]], volumes: {} }])
      expect(refusedFields('PodSpec', spec, 'spec')).toEqual([]);
  });

  it('a pod of a megabyte is looked at in linear time', () => {
    const specOf = (count: number) => ({ containers: Array.from({ length: count }, () => ({ volumeDevices: [{}] })) });
    expect(refusedFields('PodSpec', specOf(50_000), 'spec')).toHaveLength(50_000);
  });
});
