import '../support/ignore-closed-output.ts';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compareAgents, measureAgents, recordKubelet } from './compare-agents.ts';
import { renderFigures } from './figures/render.ts';
import { handOver } from './hand-over/hand-over.ts';
import { missingRequirements } from '../support/node/requirements.ts';
import { type Options, parseOptions } from './options.ts';
import { Progress } from '../support/progress.ts';
import { RecordingsFolder } from './recordings-folder.ts';
import { renderHandOver, renderResults } from './report.ts';
import { endEarly, type Session, withSession } from '../support/node/session.ts';
import type { Shape } from './shape.ts';
import { tooManyByChance } from './shape-result.ts';
import { allShapes, quickShapes } from './shapes/all-shapes.ts';

async function main(): Promise<number> {
  const options = parseOptions(process.argv.slice(2));
  const shapes = options.shapes ?? (options.quick ? quickShapes : allShapes);
  if (options.list) {
    process.stdout.write(shapes.map(({ name }) => `${name}\n`).join(''));
    return 0;
  }
  const missing = missingRequirements();
  if (missing.length > 0) {
    process.stderr.write(`npm run side-by-side cannot run here:\n${missing.map((line) => `- ${line}\n`).join('')}`);
    return 2;
  }
  const progress = new Progress();
  progress.begin('control plane and containerd');
  try {
    return await withSession(options, (session) => runSession(session, options, shapes, progress));
  } catch (error) {
    return endEarly(error, options.folder);
  } finally {
    progress.end();
  }
}

/** Resolves with the exit code. */
async function runSession(
  session: Session,
  options: Options,
  shapes: readonly Shape[],
  progress: Progress,
): Promise<number> {
  if (options.handOver) {
    progress.begin('kubelet → agent → kubelet');
    const changes = await handOver(session);
    const text = options.json ? JSON.stringify(changes, undefined, 2) : renderHandOver(changes).join('\n');
    process.stdout.write(`${text}\n`);
    return changes.length === 0 ? 0 : 1;
  }
  const recordings = new RecordingsFolder(
    options.kubeletRecordings ?? mkdtempSync(join(tmpdir(), 'kubelet-recordings-')),
  );
  const compare = { shapes, concurrency: options.concurrency, recordings, progress };
  if (options.record) {
    await recordKubelet(session, shapes, compare);
    return 0;
  }
  const results = await compareAgents(session, compare);
  const figures = (options.figures ?? shapes === allShapes) ? await measureAgents(session, progress) : undefined;
  const lines = [
    ...renderResults(results, process.stdout.isTTY && process.stdout.hasColors()),
    ...(figures === undefined ? [] : ['', ...renderFigures(figures)]),
  ];
  process.stdout.write(
    options.json ? `${JSON.stringify({ shapes: results, figures }, undefined, 2)}\n` : `${lines.join('\n')}\n`,
  );
  const tooMany = tooManyByChance(results);
  if (tooMany !== undefined) process.stderr.write(`${tooMany}\n`);
  const isAccepted = results.every(({ result }) => result === 'same' || result === 'declared');
  return isAccepted && tooMany === undefined ? 0 : 1;
}

process.exitCode = await main();
