import type { criEnums, criMessages, criMethods } from './cri-api.ts';

export type MessageName = keyof typeof criMessages;
export type CRIMethod = keyof typeof criMethods;
type EnumName = keyof typeof criEnums;

/**
 * The TypeScript type of a field's type. 64-bit integers are numbers, so nanosecond times lose a few hundred
 * nanoseconds of precision.
 */
type Scalar<Type> = Type extends 'string'
  ? string
  : Type extends 'bool'
    ? boolean
    : Type extends 'bytes'
      ? Uint8Array
      : Type extends 'int32' | 'int64' | 'uint32' | 'uint64' | 'double'
        ? number
        : Type extends EnumName
          ? keyof (typeof criEnums)[Type]
          : never;

type Field<Row> = Row extends readonly [number, infer Type] ? Type : never;

type Received<Type> = Type extends `repeated ${infer Element}`
  ? readonly Received<Element>[]
  : Type extends `map ${infer Value}`
    ? { readonly [key: string]: Received<Value> }
    : Type extends MessageName
      ? CRIMessage<Type>
      : Scalar<Type>;

type Sent<Type> = Type extends `repeated ${infer Element}`
  ? readonly Sent<Element>[]
  : Type extends `map ${infer Value}`
    ? { readonly [key: string]: Sent<Value> }
    : Type extends MessageName
      ? CRIRequest<Type>
      : Scalar<Type>;

/** A received message: absent scalars, lists and maps are empty, absent messages are null. */
export type CRIMessage<Name extends MessageName> = {
  readonly [Key in keyof (typeof criMessages)[Name]]: Field<(typeof criMessages)[Name][Key]> extends MessageName
    ? Received<Field<(typeof criMessages)[Name][Key]>> | null
    : Received<Field<(typeof criMessages)[Name][Key]>>;
};

/** A message to send; undefined fields are omitted. */
export type CRIRequest<Name extends MessageName> = {
  readonly [Key in keyof (typeof criMessages)[Name]]?: Sent<Field<(typeof criMessages)[Name][Key]>> | undefined;
};
