import { writeSync } from 'node:fs';
import type { Logger } from '../../src/status-manager/index.ts';
import type { AgentReport } from './protocol.ts';
import { onPurpose } from './throwing-ports.ts';

const stdout = 1;

/** Writes a report of an agent process synchronously, so that it is not lost when the process gets SIGKILL. */
export function writeReport(report: AgentReport): void {
  const line = Buffer.from(`${JSON.stringify(report)}\n`);
  for (let written = 0; written < line.length;) written += writeSync(stdout, line, written);
}

/** Reports warnings and errors, except for those that the run has caused on purpose. */
export function reportingLogger(send: (report: AgentReport) => void): Logger {
  const at =
    (level: 'warn' | 'error') =>
    (fields: object, message: string): void => {
      const { err, reason } = fields as { readonly err?: unknown; readonly reason?: unknown };
      const why = err instanceof Error ? err.stack : reason;
      if (typeof why === 'string' && (why.includes(onPurpose) || why.includes('ENOSPC'))) return;
      send({ kind: 'log', level, message, reason: typeof why === 'string' ? why : '' });
    };
  const nothing = (): void => {};
  return { trace: nothing, debug: nothing, info: nothing, warn: at('warn'), error: at('error') };
}
