import { describe, expect, it } from 'vitest';
import { ScriptedEvents } from './scripted-events.ts';

const recreation = { metadata: { name: 'web', namespace: 'default', uid: 'another' } };

describe('api.recreateAfterGet, as in the oracle', () => {
  it('waits for a GET that finds the pod and does not fail', () => {
    const events = new ScriptedEvents();
    events.recreateAfterGet('default/web', recreation);
    events.fail('default/web', 'get', 500, 1);
    expect(events.apply('default/web', 'get', true)).toEqual({ failure: 500 });
    expect(events.apply('default/web', 'get', false)).toEqual({});
    expect(events.apply('default/web', 'patch', true)).toEqual({});
    expect(events.apply('default/other', 'get', true)).toEqual({});
    expect(events.apply('default/web', 'get', true)).toEqual({ recreation });
    expect(events.apply('default/web', 'get', true)).toEqual({});
  });

  it('replaces an earlier one', () => {
    const events = new ScriptedEvents();
    events.recreateAfterGet('default/web', { metadata: {} });
    events.recreateAfterGet('default/web', recreation);
    expect(events.apply('default/web', 'get', true)).toEqual({ recreation });
    expect(events.apply('default/web', 'get', true)).toEqual({});
  });
});
