import protobuf from 'protobufjs/light.js';

/** Field → its number and type: `string`, `repeated Name`, `map string`, or a message or enum of the same tables. */
type MessageTable = Readonly<Record<string, Readonly<Record<string, readonly [number, string]>>>>;
type EnumTable = Readonly<Record<string, Readonly<Record<string, number>>>>;

/** Encodes and decodes one type of messages. */
export interface MessageCodec {
  readonly encode: (message: object) => Buffer;
  /** Absent scalars are empty, and enums are their names. */
  readonly decode: (bytes: Uint8Array) => object;
}

/** The codecs of the messages of a table. */
export function createCodecs<Name extends string>(
  messages: Readonly<Record<Name, MessageTable[string]>>,
  enums: EnumTable = {},
): Readonly<Record<Name, MessageCodec>> {
  const root = protobuf.Root.fromJSON({
    nested: Object.fromEntries<protobuf.IEnum | protobuf.IType>([
      ...Object.entries(enums).map(([name, values]) => [name, { values: { ...values } }] as const),
      ...Object.entries<MessageTable[string]>(messages).map(
        ([name, fields]) =>
          [
            name,
            { fields: Object.fromEntries(Object.entries(fields).map(([field, row]) => [field, toField(row)])) },
          ] as const,
      ),
    ]),
  });
  const codecs = Object.keys(messages).map((name) => [name, codecOf(root.lookupType(name))]);
  return Object.fromEntries(codecs) as Record<Name, MessageCodec>;
}

function codecOf(type: protobuf.Type): MessageCodec {
  return {
    encode: (message) => Buffer.from(type.encode(type.fromObject(message)).finish()),
    decode: (bytes) => type.toObject(type.decode(bytes), { longs: Number, enums: String, defaults: true }),
  };
}

function toField([id, type]: readonly [number, string]): protobuf.IField | protobuf.IMapField {
  const [first, second = type] = type.split(' ');
  if (first === 'map') return { id, keyType: 'string', type: second };
  return first === 'repeated' ? { id, type: second, rule: 'repeated' } : { id, type };
}
