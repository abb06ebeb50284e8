import { expect, it } from 'vitest';
import { LimitedOutput } from '../../src/shared/limited-output.ts';

it('keeps the beginning of what is written, however it is cut into chunks', () => {
  const output = new LimitedOutput(5);
  for (const chunk of ['abc', 'defg', 'h']) output.write(chunk);
  expect(output.text).toBe('abcde');
});

it('a write after the end has no effect', async () => {
  const output = new LimitedOutput(5);
  output.end('abc');
  output.write('d');
  await new Promise((resolve) => output.on('close', resolve));
  expect(output.text).toBe('abc');
});
