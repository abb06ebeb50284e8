import { readFile } from 'node:fs/promises';

/** Where the list is kept, from the folder of package.json. */
export const specListFile = 'test/conformance/specs.json';

/** The specs of Kubernetes' e2e tests that the real kubelet passes on a machine of the kind that runs them here. */
export interface SpecList {
  /** The version of the kubelet and of the e2e tests. */
  readonly kubelet: string;
  /** Text of a spec's outermost container → the rest of the full names. */
  readonly passes: Readonly<Record<string, readonly string[]>>;
  /** Full names: representative specs that take seconds, of each group the most telling. */
  readonly quick: readonly string[];
  /** Full name of a spec that the agent cannot pass → why. */
  readonly reasons: Readonly<Record<string, string>>;
  /** Full name of a spec that the kubelet itself fails on such a machine → what is missing. */
  readonly kubeletFails: Readonly<Record<string, string>>;
}

export interface Spec {
  readonly group: string;
  /** The full name: `[sig-node] Probing container should be restarted …`. */
  readonly name: string;
}

export async function readSpecList(): Promise<SpecList> {
  return JSON.parse(await readFile(specListFile, 'utf8')) as SpecList;
}

/**
 * For people: how many specs run, and each other one that matches with the reason.
 *
 * @param notRun patterns of names → why they are not run at all
 */
export function describeSpecList(
  list: SpecList,
  { focus, notRun = {} }: { readonly focus?: RegExp | undefined; readonly notRun?: Readonly<Record<string, string>> },
): string {
  const section = (title: string, reasons: readonly (readonly [name: string, why: string])[]): string[] =>
    reasons.length === 0
      ? []
      : ['', `${title}: ${reasons.length}`, ...reasons.map((row) => `  ${row.join('\n      ')}`)];
  const matching = (reasons: Readonly<Record<string, string>>): [string, string][] =>
    Object.entries(reasons).filter(([name]) => focus?.test(name) !== false);
  return [
    `Specs that the kubelet ${list.kubelet} passes here, and that are run: ${selectSpecs(list, { focus }).length}`,
    ...section('Of them, the agent cannot pass', matching(list.reasons)),
    ...section('Specs that the kubelet itself does not pass here', matching(list.kubeletFails)),
    ...section('Not run, by a part of the name', Object.entries(notRun)),
    '',
  ].join('\n');
}

/** The listed specs whose full names match, in the order of the list. */
export function selectSpecs(list: SpecList, { focus, quick }: { focus?: RegExp | undefined; quick?: boolean }): Spec[] {
  const quickNames = new Set(list.quick);
  return Object.entries(list.passes)
    .flatMap(([group, rests]) => rests.map((rest): Spec => ({ group, name: `${group} ${rest}` })))
    .filter(({ name }) => (quick !== true || quickNames.has(name)) && focus?.test(name) !== false);
}
