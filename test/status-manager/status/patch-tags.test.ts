import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { PatchSchema } from '../../../src/status-manager/status/patch-schema.ts';
import { podStatusFields } from '../../../src/status-manager/status/status-fields.ts';

interface Field {
  readonly goType: string;
  readonly strategy: readonly string[];
  readonly mergeKey: string | undefined;
}

/** By type, then by JSON name. */
type Fields = ReadonlyMap<string, ReadonlyMap<string, Field>>;

const fieldsFile = new URL('testdata/pod-status-fields.txt', import.meta.url);
const sharedFile = new URL('../../../../shared/podstatus-fields.txt', import.meta.url);

function readFields(lines: readonly string[]): Fields {
  const types = new Map<string, Map<string, Field>>();
  for (const line of lines) {
    const [type = '', name = '', goType = '', strategy = '-', mergeKey = '-'] = line.split(' ');
    if (!types.has(type)) types.set(type, new Map());
    types.get(type)!.set(name, {
      goType,
      strategy: strategy === '-' ? [] : strategy.split(','),
      mergeKey: mergeKey === '-' ? undefined : mergeKey,
    });
  }
  return types;
}

const goFields = readFields(
  readFileSync(fieldsFile, 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#')),
);

/** The rules of our table, one line a field, for all fields that it can reach. */
function ourRules(fields: Readonly<Record<string, PatchSchema>>, type: string, found = new Map<string, string>()) {
  for (const [name, schema] of Object.entries(fields)) {
    found.set(`${type}.${name}`, ruleOf(schema.mergeKey, schema.retainKeys === true));
    const element = elementType(goFields.get(type)?.get(name)?.goType ?? '');
    if (schema.fields !== undefined) ourRules(schema.fields, element, found);
  }
  return found;
}

/** The rules of Kubernetes. */
function kubernetesRules(): Map<string, string> {
  const rules = new Map<string, string>();
  for (const [type, fields] of goFields) {
    for (const [name, { strategy, mergeKey }] of fields) {
      expect(strategy.includes('merge')).toBe(mergeKey !== undefined);
      rules.set(`${type}.${name}`, ruleOf(mergeKey, strategy.includes('retainKeys')));
    }
  }
  return rules;
}

const ruleOf = (mergeKey: string | undefined, retainKeys: boolean): string =>
  `${mergeKey === undefined ? 'replace' : `merge by ${mergeKey}`}${retainKeys ? ', retain keys' : ''}`;

const elementType = (goType: string): string => goType.replace(/^(\[\]|\*)/, '');

describe('the table of pod status fields', () => {
  it('has exactly the fields of Kubernetes, each with the patch strategy and merge key of its tags', () => {
    const ours = ourRules(podStatusFields, 'PodStatus');
    expect(Object.fromEntries(ours)).toEqual(Object.fromEntries(kubernetesRules()));
  });

  it.skipIf(!existsSync(sharedFile))('is compared with the tags that ../shared lists', () => {
    let type = '';
    const lines = readFileSync(sharedFile, 'utf8')
      .split('\n')
      .flatMap((line) => {
        type = /^== v1\.(\S+)/.exec(line)?.[1] ?? type;
        const [, goType, name, strategy, mergeKey] =
          /^\s+\S+\s+(\S+)\s+json="([^",]*)[^"]*" ps="([^"]*)" pk="([^"]*)"/.exec(line) ?? [];
        if (name === undefined) return [];
        return [[type, name, goType!.replace('v1.', ''), strategy || '-', mergeKey || '-'].join(' ')];
      });
    expect(readFields(lines)).toEqual(goFields);
  });
});
