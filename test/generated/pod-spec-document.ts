import { type FieldRow, podSpecFields, type PodSpecStruct } from '../../src/node/pod-spec/pod-spec-fields.ts';
import { fieldTypes } from '../../src/node/pod-spec/refused-fields.ts';
import { virtualNodeFields, type VirtualNodeRow } from '../../src/virtual-nodes/capabilities/virtual-node-fields.ts';

const header = `# What the agent does with each field of a pod

Generated from the tables of \`src/node/pod-spec/pod-spec-fields.ts\` by
\`npm run generated -- --write\`, for Kubernetes v1.37. The compiler demands a row for each field.
Files and folders are below \`src\`.

A pod gets what its spec says, or no container of it starts, and an Event on the pod says why:

- \`PodFeatureUnsupported\`: The pod fails at admission. The message names the features that the node
  does not have.
- \`FailedMount\`: The pod stays Pending, while the volume is tried again.
- \`FailedPrepareDynamicResources\`: The pod stays Pending before its sandbox is created.
- \`CreateContainerConfigError\`: The container waits with this reason.

The agent checks admission and resource claims for every runtime. With a volume manager of your own,
volumes are its task; with a runtime of your own that does not use \`createRuntimeHelper\`, so is what
\`agent/volumes\`, \`node/container-options\` and \`cri\` do.

A field of a newer Kubernetes that is not in these tables is ignored, as in the kubelet, which drops
what it does not know when it decodes a pod. A volume without a source of these tables is refused.
`;

const virtualNodesHeader = `
## Virtual nodes

On a [virtual node](../guides/virtual-nodes.md), the library does what a field says, the provider
has to, or a pod with the field is refused with \`PodFeatureUnsupported\` unless the provider declares
the capability. Generated from \`src/virtual-nodes/capabilities/virtual-node-fields.ts\`.

`;

/** The text of docs/internals/pod-spec.md. */
export function generatePodSpecDocument(): string {
  const structs = Object.entries(podSpecFields) as [PodSpecStruct, Readonly<Record<string, FieldRow>>][];
  const refused = structs.flatMap(([struct, rows]) =>
    inOrder(struct, rows).flatMap(([field, row]) =>
      'refused' in row && struct !== 'EphemeralContainer'
        ? [[`\`${struct}.${field}\``, `\`${row.refused}\``, row.because]]
        : [],
    ),
  );
  const sections = structs.map(([struct, rows]) => `\n## ${struct}\n\n${tableOfStruct(struct, rows)}`);
  return `${header}\n## Refused fields\n\n${table(['Field', 'Refused with', 'Because'], refused)}${sections.join('')}${virtualNodesHeader}${table(['Field', 'By', 'How'], virtualNodeRows())}`;
}

function virtualNodeRows(): string[][] {
  const structs = Object.entries(virtualNodeFields) as [PodSpecStruct, Readonly<Record<string, VirtualNodeRow>>][];
  return structs.flatMap(([struct, rows]) =>
    fieldTypes(struct).map(([field]) => [`\`${struct}.${field}\``, ...virtualNodeCells(rows[field]!)]),
  );
}

function virtualNodeCells(row: VirtualNodeRow): string[] {
  if ('library' in row) return ['library', `\`${row.library}\`${row.note === undefined ? '' : `: ${row.note}`}`];
  if ('provider' in row) return ['provider', row.provider];
  if ('ignored' in row) return ['nobody', row.ignored];
  const note = row.note === undefined ? '' : `; ${row.note}`;
  return ['provider, or refused', `declared by \`${row.needs}\`${note}`];
}

function tableOfStruct(struct: PodSpecStruct, rows: Readonly<Record<string, FieldRow>>): string {
  const inherited: Readonly<Record<string, FieldRow>> = struct === 'EphemeralContainer' ? podSpecFields.Container : {};
  const own = inOrder(struct, rows).filter(([field, row]) => inherited[field] !== row);
  const intro = struct === 'EphemeralContainer' ? 'As `Container`, and:\n\n' : '';
  return `${intro}${table(
    ['Field', 'The agent'],
    own.map(([field, row]) => [`\`${field}\``, textOf(row)]),
  )}`;
}

/** In the order of the API. */
function inOrder(struct: PodSpecStruct, rows: Readonly<Record<string, FieldRow>>): (readonly [string, FieldRow])[] {
  return fieldTypes(struct).map(([field]) => [field, rows[field]!]);
}

function textOf(row: FieldRow): string {
  if ('honoured' in row) return `honours it in \`${row.honoured}\`${row.note === undefined ? '' : `: ${row.note}`}`;
  if ('ignored' in row) return `does nothing: ${row.ignored}`;
  return `refuses it with \`${row.refused}\`: ${row.because}`;
}

/** A Markdown table as the formatter writes it. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((text, i) => Math.max(text.length, ...rows.map((row) => row[i]!.length)));
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, i) => cell.padEnd(widths[i]!)).join(' | ')} |\n`;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('');
}
