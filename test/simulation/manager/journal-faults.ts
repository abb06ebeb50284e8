import type { Random } from '../../chaos/random.ts';
import type { SimulatedDisk } from '../simulated-disk.ts';

const newline = 0x0a;
const lastBytes = 2_000;

/** A line of a journal whose byte was changed. */
export interface DamagedLine {
  /** The UIDs of the pods that it named: their statuses may be lost, and no others. */
  readonly podUIDs: readonly string[];
  /** What it says now. */
  readonly text: string;
}

/** Changes one byte of a file while nobody has it open. */
export function damageLine(disk: SimulatedDisk, file: string, random: Random): DamagedLine {
  const content = disk.contentOf(file, 'crash');
  if (content === undefined || content.length === 0) return { podUIDs: [], text: '' };
  // Often one of the last lines, whose earlier versions may still be there.
  const at = random.integer(random.chance(0.5) ? 0 : Math.max(0, content.length - lastBytes), content.length - 1);
  const start = content.lastIndexOf(newline, Math.max(0, at - 1)) + 1;
  const end = content.indexOf(newline, at + 1);
  disk.damage(file, at, content[at]! ^ random.integer(1, 127));
  const named = uidsIn(content.subarray(at === start - 1 ? 0 : start, end < 0 ? content.length : end));
  const damaged = disk.contentOf(file, 'crash')!.subarray(start, end < 0 ? content.length : end);
  return { podUIDs: named, text: damaged.toString('latin1') };
}

/** The UIDs of the pods that lines of a journal name. */
function uidsIn(lines: Buffer): string[] {
  return [...lines.toString('latin1').matchAll(/"podUID":"([^"]+)"/g)].map(([, uid]) => uid!);
}
