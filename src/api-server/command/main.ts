#!/usr/bin/env node
import { systemClock } from '../../shared/clock.ts';
import { runAPIServerCommand } from './api-server-command.ts';

process.exitCode = await runAPIServerCommand(process.argv.slice(2), {
  onSignal: (listener) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, listener);
    // EPIPE: the reader of the output is gone.
    for (const stream of [process.stdout, process.stderr]) stream.on('error', () => listener('SIGTERM'));
  },
  clock: systemClock,
  writeOut: (text) => void process.stdout.write(text),
  writeError: (text) => void process.stderr.write(text),
});
