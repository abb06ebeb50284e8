import { runParity } from './cli.ts';

process.exitCode = await runParity(process.argv.slice(2), process.stdout, process.stderr);
