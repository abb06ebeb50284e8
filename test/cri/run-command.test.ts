import { expect, it } from 'vitest';
import { runCommand } from '../../src/cri/run-command.ts';

it('resolves when the program has succeeded', async () => {
  await expect(runCommand(process.execPath, ['-e', ''])).resolves.toBeUndefined();
});

it.each([
  ['what it has printed', 'console.error("refused"); process.exit(1)', `${process.execPath}: refused`],
  ['how it ended, if it has printed nothing', 'process.exit(1)', `${process.execPath}: Command failed: `],
])('rejects with %s', async (_name, script, message) => {
  await expect(runCommand(process.execPath, ['-e', script])).rejects.toThrow(message);
});

it('rejects if the program is missing', async () => {
  await expect(runCommand('no-such-program', [])).rejects.toThrow('no-such-program: spawn no-such-program ENOENT');
});
