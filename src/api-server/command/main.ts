#!/usr/bin/env node
import { runAPIServerCommand } from './api-server-command.ts';

const end = new Promise<void>((resolve) => {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => resolve());
  // Nobody reads the output any more.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => resolve());
});

process.exitCode = await runAPIServerCommand(process.argv.slice(2), {
  end,
  writeOut: (text) => void process.stdout.write(text),
  writeError: (text) => void process.stderr.write(text),
});
