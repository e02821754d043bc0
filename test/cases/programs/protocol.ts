import type { MillraceOptionsLayer } from 'nestjs-millrace';
import type { StoreAddress, StoreSettings } from '../../support/store-address';

/** What a child process is told when it is started; JSON. */
export interface ProgramSettings {
  readonly store: StoreAddress;
  readonly settings?: StoreSettings;
  readonly options?: MillraceOptionsLayer;
  /** A clock that stands still at this instant until it is told to move. Default: the system's. */
  readonly startingAt?: string;
  /** What many applications forget. Default true. */
  readonly shutdownHooks?: boolean;
}

/** A call of a {@link ProgramCommands} method. */
export interface ProgramRequest {
  readonly id: number;
  readonly command: string;
  readonly args: readonly unknown[];
}

export type ProgramMessage =
  | { readonly ready: true }
  | { readonly event: unknown }
  | { readonly id: number; readonly result: unknown }
  | { readonly id: number; readonly error: string }
  | { readonly uncaught: string };
