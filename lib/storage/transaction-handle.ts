/**
 * An open transaction of the application, which an operation can join: a TypeORM `EntityManager` or `QueryRunner`, or
 * anything of this shape. Nothing is committed or rolled back through it.
 */
export interface TransactionHandle {
  query(sql: string, parameters?: unknown[]): Promise<unknown>;
  readonly isTransactionActive?: boolean;
  readonly queryRunner?: { readonly isTransactionActive?: boolean } | undefined;
}
