import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { podFields, statusFields } from '../../src/shared/log-fields.ts';

const pod = { podNamespace: 'default', podName: 'web' };

describe('the fields of a log line', () => {
  it('name the pod, and the version of its status', () => {
    expect(podFields('uid', pod)).toEqual({ pod: 'default/web', podUID: 'uid' });
    expect(statusFields('uid', { ...pod, version: 3 })).toEqual({
      pod: 'default/web',
      podUID: 'uid',
      statusVersion: 3,
    });
  });

  it('are made in log-fields.ts, of the library and of src/agent', () => {
    const src = new URL('../../src/', import.meta.url);
    const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter(
      (path) => path.endsWith('.ts') && !path.startsWith('testing') && !path.endsWith('log-fields.ts'),
    );
    expect(files.length).toBeGreaterThan(50);
    const others = files.filter((path) =>
      /\b(pod: `\$\{|statusVersion:)/.test(readFileSync(new URL(path, src), 'utf8')),
    );
    expect(others).toEqual([]);
  });

  it('of src/agent have the name of the pod wherever they have its UID, and no Error, which pino prints as {}', () => {
    const agent = new URL('../../src/agent/', import.meta.url);
    const files = readdirSync(agent, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.ts'));
    expect(files.length).toBeGreaterThan(50);
    const others = files.filter((path) =>
      /\{ podUID: (?!string)|\berror \}, '/.test(readFileSync(new URL(path, agent), 'utf8')),
    );
    expect(others).toEqual([]);
  });
});
