import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { kubeletVersion, versions } from '../kubernetes/versions.ts';

interface Step {
  readonly uses?: string;
  readonly run?: string;
}
interface Job {
  readonly permissions?: Readonly<Record<string, string>>;
  readonly strategy?: { readonly matrix: { readonly version?: readonly string[] } };
  readonly steps: readonly Step[];
}

const root = new URL('../../', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8');
const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
const folder = '.github/workflows';
const workflows = readdirSync(new URL(folder, root)).map((name) => {
  const text = read(`${folder}/${name}`);
  const { jobs: all, permissions } = parse(text) as Pick<Job, 'permissions'> & { jobs: Record<string, Job> };
  return { name, text, permissions, jobs: Object.entries(all) };
});
const jobs = workflows.flatMap(({ name, jobs: all }) => all.map(([job, value]) => [`${name} ${job}`, value] as const));

describe.each(workflows)('$name', ({ text, permissions }) => {
  it('lets a job write, or sign, only if the job says so', () => {
    expect(Object.values(permissions ?? { all: 'write' })).not.toContain('write');
  });

  it('pins each action by commit and names its version', () => {
    const used = [...text.matchAll(/uses: (.*)/g)].map(([, action]) => action!);
    expect(used.filter((action) => !/^[\w./-]+@[0-9a-f]{40} # v\d/.test(action))).toEqual([]);
  });

  it('runs scripts that the project has', () => {
    const named = [...text.matchAll(/npm run ([\w-]+(?::[\w-]+)*)/g)].map(([, script]) => script!);
    expect(named.filter((script) => !Object.hasOwn(scripts, script))).toEqual([]);
    const files = [...text.matchAll(/\.ci\/[\w.-]+/g)].map(([file]) => file);
    expect(files.filter((file) => !existsSync(new URL(file, root)))).toEqual([]);
  });
});

it.each(jobs.filter(([, { permissions }]) => Object.values(permissions ?? {}).includes('write')))(
  '%s may write, and runs no code of the repository or of its dependencies',
  (_name, { steps }) => {
    expect(steps.filter(({ uses }) => uses?.startsWith('actions/checkout@'))).toEqual([]);
    // Actions of others could run anything.
    expect(steps.filter(({ uses }) => uses !== undefined && !uses.startsWith('actions/'))).toEqual([]);
    const commands = steps.flatMap(({ run }) => run?.split('\n') ?? []);
    expect(commands.length).toBeGreaterThan(0);
    expect(commands.filter((command) => !/^(npm publish .*--ignore-scripts|gh release create) /.test(command))).toEqual(
      [],
    );
  },
);

it('ci.yml starts each command of a node that .ci/run starts', () => {
  const commands = (text: string): string[] =>
    [...text.matchAll(/npm run (conformance|side-by-side|chaos -- node)\b/g)].map(([, command]) => command!);
  expect(commands(read(`${folder}/ci.yml`)).toSorted()).toEqual(commands(read('.ci/run')).toSorted());
});

it('ci.yml tests each kube-apiserver of the project', () => {
  const [, job] = jobs.find(([name]) => name === 'ci.yml api-server')!;
  expect(job.strategy?.matrix.version).toEqual(Object.keys(versions));
});

it('the generated files come from the release of Kubernetes whose kubelet is the reference', () => {
  const modules = [...read('test/generated/go/go.mod').matchAll(/^\tk8s\.io\/\w+(?:-\w+)? (\S+)$/gm)].map(
    ([, one]) => one,
  );
  expect(new Set(modules)).toEqual(new Set([kubeletVersion.replace('1.', 'v0.')]));
});
