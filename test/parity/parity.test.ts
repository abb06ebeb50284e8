import { fileURLToPath } from 'node:url';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runParity } from './cli.ts';
import { withoutEmptyNulls } from './compare.ts';
import { type ReplayOptions, replayTrace } from './replay.ts';
import { readTraces, type Trace, type TraceStep } from './trace.ts';

/** Every fifth of the 1,500 random traces that were recorded from the kubelet's status manager. */
const tracesFile = fileURLToPath(new URL('testdata/traces.jsonl.gz', import.meta.url));

const traces: Trace[] = [];
beforeAll(async () => {
  for await (const trace of readTraces(tracesFile)) traces.push(trace);
});

describe('parity with the kubelet', () => {
  it.each<[string, ReplayOptions]>([
    ['by default, in parallel: no trace has more pods than the default concurrency', {}],
    ['concurrency 1, the kubelet’s serial order', { concurrency: 1 }],
    ['readBeforePatch when-stale: the same effects', { readBeforePatch: 'when-stale' }],
    ['JSON patches: the same effects', { patchStrategy: 'json-patch' }],
    ['both, in serial order', { readBeforePatch: 'when-stale', patchStrategy: 'json-patch', concurrency: 1 }],
    ['statuses in other valid formats', { reformatSeed: 1 }],
  ])(
    'replays 300 traces without a divergence: %s',
    async (_, options) => {
      for (const trace of traces) expect(await replayTrace(trace, options)).toEqual([]);
      expect(traces).toHaveLength(300);
    },
    120_000,
  );
});

type Tamper = (step: TraceStep) => TraceStep | undefined;

/** The trace with a change to the first step that `tamper` can change, and the number of that step. */
function tampered(traces: readonly Trace[], tamper: Tamper): { trace: Trace; step: number } {
  for (const trace of traces) {
    for (const [step, original] of trace.steps.entries()) {
      const changed = tamper(original);
      if (changed !== undefined) return { trace: { ...trace, steps: trace.steps.with(step, changed) }, step };
    }
  }
  throw new Error('no step to tamper with');
}

function first<T>(record: Readonly<Record<string, T>> | undefined): [string, T] | undefined {
  return Object.entries(record ?? {}).find(([, value]) => value !== null);
}

describe('the harness notices', () => {
  it.each<[string, string, Tamper]>([
    [
      'another return value',
      'returns',
      ({ expect, ...step }) => (step.op === 'syncBatch' ? { ...step, expect: { ...expect, returns: 99 } } : undefined),
    ],
    [
      'a missing return value',
      'returns',
      ({ expect, ...step }) => {
        if (step.op !== 'getPodStatus' || expect?.returns === undefined) return undefined;
        const { returns: _, ...rest } = expect;
        return { ...step, expect: rest };
      },
    ],
    [
      'another wake-up',
      'signal',
      ({ expect, ...step }) => ({ ...step, expect: { ...expect, signal: expect?.signal !== true } }),
    ],
    [
      'another version',
      'cache.',
      ({ expect, ...step }) => {
        const [uid, entry] = first(expect?.cache) ?? [];
        if (uid === undefined) return undefined;
        return {
          ...step,
          expect: { ...expect, cache: { ...expect!.cache, [uid]: { ...(entry as object), version: 99 } } },
        };
      },
    ],
    [
      'a cached status that should have changed',
      'cache.',
      ({ expect, ...step }) =>
        first(expect?.cache) === undefined
          ? { ...step, expect: { ...expect, cache: { x: { version: 1 } } } }
          : undefined,
    ],
    [
      'a cached status that should not have changed',
      'cache.',
      ({ expect, ...step }) => {
        if (first(expect?.cache) === undefined) return undefined;
        const { cache: _, ...rest } = expect!;
        return { ...step, expect: rest };
      },
    ],
    [
      'a surplus request',
      'requests.',
      ({ expect, ...step }) => {
        const [pod, requests] = first(expect?.requests) ?? [];
        if (pod === undefined) return undefined;
        return { ...step, expect: { ...expect, requests: { ...expect!.requests, [pod]: requests!.slice(0, -1) } } };
      },
    ],
    [
      'another body',
      'requests.',
      ({ expect, ...step }) => {
        const [pod, requests] =
          Object.entries(expect?.requests ?? {}).find(([, list]) => list[1]?.verb === 'patch') ?? [];
        if (pod === undefined) return undefined;
        const [get, patch, ...others] = requests!;
        const body = patch!.body as { status: object };
        const changed = { ...patch!, body: { ...body, status: { ...body.status, message: 'tampered' } } };
        return { ...step, expect: { ...expect, requests: { ...expect!.requests, [pod]: [get!, changed, ...others] } } };
      },
    ],
    [
      'another version that was sent',
      'sent.',
      ({ expect, ...step }) => {
        const [uid] = first(expect?.sent) ?? [];
        return uid === undefined ? undefined : { ...step, expect: { ...expect, sent: { ...expect!.sent, [uid]: 99 } } };
      },
    ],
    [
      'another effect on the API server',
      'api.',
      ({ expect, ...step }) => {
        const [pod] = first(expect?.api) ?? [];
        return pod === undefined ? undefined : { ...step, expect: { ...expect, api: { ...expect!.api, [pod]: null } } };
      },
    ],
    [
      'a missing notification',
      'notified',
      ({ expect, ...step }) =>
        (expect?.notified ?? []).length > 0 ? { ...step, expect: { ...expect, notified: [] } } : undefined,
    ],
    [
      'a step that throws',
      'thrown',
      (step) => (step.op === 'setContainerReadiness' ? { ...step, containerID: '' } : undefined),
    ],
    ['an unknown step', 'thrown', (step) => ({ ...step, op: 'unknown' })],
  ])('%s', async (_, path, tamper) => {
    const { trace, step } = tampered(traces, tamper);
    const divergences = await replayTrace(trace);
    expect(divergences.length).toBeGreaterThan(0);
    expect(divergences[0]).toMatchObject({ trace: trace.name, step, op: trace.steps[step]!.op });
    expect(divergences[0]!.path).toMatch(new RegExp(`^${path.replace('.', '\\.')}`));
  });

  it('a null that removes a field, but not a null without effect', () => {
    const request = { verb: 'patch', body: { metadata: { uid: 'u' }, status: { message: null, phase: null } } };
    expect(withoutEmptyNulls(request, { phase: 'Running' })).toEqual({
      verb: 'patch',
      body: { metadata: { uid: 'u' }, status: { phase: null } },
    });
  });
});

describe('npm run parity', () => {
  const directory = mkdtempSync(join(tmpdir(), 'parity-'));
  const file = (name: string, content: string | Buffer): string => {
    writeFileSync(join(directory, name), content);
    return join(directory, name);
  };
  let two: Trace[];
  let lines: string;
  beforeAll(() => {
    two = traces.slice(0, 2);
    lines = `${two.map((trace) => JSON.stringify(trace)).join('\n')}\n\n`;
  });
  afterAll(() => rmSync(directory, { recursive: true }));

  async function run(...args: string[]): Promise<{ code: number; out: string; err: string }> {
    let out = '';
    let err = '';
    const code = await runParity(args, { write: (text) => (out += text) }, { write: (text) => (err += text) });
    return { code, out, err };
  }

  it('prints the counts and exits with 0 without a divergence, for .jsonl and .jsonl.gz and with all options', async () => {
    const plain = file('plain.jsonl', lines);
    const zipped = file('zipped.jsonl.gz', gzipSync(lines));
    expect(await run(plain, zipped)).toEqual({ code: 0, out: '4 traces, 160 steps, 0 divergences\n', err: '' });
    expect(await run('--concurrency', '1', '--when-stale', plain)).toMatchObject({ code: 0 });
  });

  it('distinguishes pod status rows from traces by their content', async () => {
    const rowsFile = fileURLToPath(new URL('testdata/pod-status.jsonl.gz', import.meta.url));
    const [row] = gunzipSync(readFileSync(rowsFile)).toString().split('\n');
    const mixed = file('mixed.jsonl', `${lines}${row}\n`);
    expect(await run(mixed)).toEqual({
      code: 0,
      out: '2 traces, 80 steps, 1 pod status rows, 0 divergences\n',
      err: '',
    });
    const changed = file('changed.jsonl', row!.replace('"killPod":false', '"killPod":true'));
    const { code, out } = await run(changed);
    expect(code).toBe(1);
    expect(out).toMatch(/^seed-\d+ step 0 \(pod-status\) actions\.killPod\n {2}expected true\n {2}got {6}false\n/);
    expect(out).toContain('1 pod status rows, 1 divergences\n');
  });

  it('prints each divergence, and exits with 1', async () => {
    const { trace, step } = tampered(two, ({ expect, ...rest }) =>
      rest.op === 'syncBatch' ? { ...rest, expect: { ...expect, returns: 99 } } : undefined,
    );
    const { code, out, err } = await run(file('tampered.jsonl', `${JSON.stringify(trace)}\n${lines}`));
    expect({ code, err }).toEqual({ code: 1, err: '' });
    expect(out).toContain(`${trace.name} step ${step} (syncBatch) returns\n  expected 99\n  got      `);
    expect(out.endsWith('\n3 traces, 120 steps, 1 divergences\n')).toBe(true);
  });

  it.each([
    ['no file', []],
    ['an unknown option', ['--fast', 'x.jsonl']],
    ['a concurrency that is not a number', ['--concurrency', 'many', 'x.jsonl']],
    ['a concurrency of 0', ['--concurrency', '0', 'x.jsonl']],
    ['a missing file', ['no-such-file.jsonl']],
    ['a missing compressed file', ['no-such-file.jsonl.gz']],
  ])('exits with 2 and the reason: %s', async (_, args) => {
    const { code, out, err } = await run(...args);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain('Usage: npm run parity');
  });

  it('exits with 2 when a file is not a trace, also when only its second half is not', async () => {
    expect(await run(file('text.jsonl', 'hello\n'))).toMatchObject({ code: 2, out: '' });
    expect(await run(file('no.jsonl.gz', 'hello\n'))).toMatchObject({ code: 2, out: '' });
    expect(await run(file('half.jsonl.gz', gzipSync(lines).subarray(0, 5_000)))).toMatchObject({ code: 2 });
  });

  it('prints its usage', async () => {
    expect(await run('--help')).toMatchObject({ code: 0, out: expect.stringContaining('Exit code:'), err: '' });
  });
});
