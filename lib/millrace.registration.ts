import type { Type } from '@nestjs/common';
import type { ModulesContainer } from '@nestjs/core';
import { REGISTRATION_PLACE } from './millrace.module-definition';
import { MillraceError } from './model/errors';

/** Thrown at startup: one application registers Millrace twice. */
export class SecondRegistrationError extends MillraceError {
  readonly code = 'MILLRACE_SECOND_REGISTRATION';

  constructor(readonly places: readonly string[]) {
    super(
      `MillraceModule is registered ${places.length} times in one application: ${places.join(' and ')}. ` +
        'Register it once, in the root module; to override options, pass further layers to that forRoot.',
    );
  }
}

/** @throws {SecondRegistrationError} the application holds more than one registration of `module` */
export function refuseSecondRegistration(modules: ModulesContainer, module: Type): void {
  const registered = [...modules.values()].filter(({ metatype }) => metatype === module);
  if (registered.length < 2) return;
  throw new SecondRegistrationError(
    registered.map(({ providers }) => {
      const place: unknown = providers.get(REGISTRATION_PLACE)?.instance;
      return typeof place === 'string' ? place : 'an import without forRoot';
    }),
  );
}

/** File and line that called the function that asks. */
export function callerPlace(): string {
  const trace: { stack?: string } = {};
  Error.captureStackTrace(trace, callerPlace);
  const [, , caller] = (trace.stack ?? '').split('\n');
  return /\(([^()]+)\)$/.exec(caller ?? '')?.[1] ?? caller?.trim().replace(/^at /, '') ?? 'an unknown place';
}
