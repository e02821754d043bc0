/** What a column holds; a dialect says how it is spelt. Text compares exactly, by code unit, on every store. */
export type ColumnType =
  | 'id'
  /** 16-bit number: a code or a flag. */
  | 'small'
  | 'int'
  /** 64-bit number: an instant in epoch milliseconds, or a duration. */
  | 'big'
  /** Text of at most this many UTF-16 units, so that it can be indexed. */
  | `text(${number})`
  /** Text of any length. */
  | 'text';

export interface Column {
  readonly type: ColumnType;
  readonly nullable?: true;
  /** The value of rows that do not name one. */
  readonly default?: number;
}

export interface Index {
  readonly name: string;
  readonly columns: string;
  readonly unique?: true;
  readonly where?: string;
}

export interface Table {
  readonly columns: Readonly<Record<string, Column>>;
  readonly primaryKey: readonly string[];
  readonly indexes: readonly Index[];
  /** Share of a page that inserts fill, for databases that can leave room for updates. */
  readonly fillFactor?: number;
}
