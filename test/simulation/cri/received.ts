import { criEnums, criMessages } from '../../../src/cri/cri-api.ts';
import type { CRIMessage, CRIRequest, MessageName } from '../../../src/cri/cri-messages.ts';

const empty: Readonly<Record<string, unknown>> = {
  ...{ string: '', bool: false, bytes: new Uint8Array() },
  ...{ int32: 0, int64: 0, uint32: 0, uint64: 0, double: 0 },
};

/** A message as it arrives: what is absent is empty, and nothing of it is shared with the sender. */
export function received<Name extends MessageName>(name: Name, sent: CRIRequest<Name>): CRIMessage<Name> {
  return messageOf(name, sent) as CRIMessage<Name>;
}

function messageOf(name: MessageName, sent: Readonly<Record<string, unknown>>): object {
  const message: Record<string, unknown> = {};
  for (const [field, [, type]] of Object.entries<readonly [number, string]>(criMessages[name]))
    message[field] = fieldOf(type, sent[field]);
  return message;
}

function fieldOf(type: string, value: unknown): unknown {
  const [first, element = type] = type.split(' ');
  if (first === 'repeated') return ((value ?? []) as readonly unknown[]).map((one) => fieldOf(element, one));
  if (first === 'map') return { ...(value as object | undefined) };
  if (type in criMessages)
    return value == null ? null : messageOf(type as MessageName, value as Readonly<Record<string, unknown>>);
  if (type in criEnums) return value ?? Object.keys(criEnums[type as keyof typeof criEnums])[0];
  return value ?? empty[type];
}
