import { type ArgumentsHost, Catch, type ExceptionFilter, HttpStatus } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { InvalidArgumentError, InvalidPayloadError } from 'nestjs-millrace';

/** What Millrace refuses is the caller's mistake, and its message says which: 400 instead of 500. */
@Catch(InvalidArgumentError, InvalidPayloadError)
export class BadRequestFilter implements ExceptionFilter {
  constructor(private readonly host: HttpAdapterHost) {}

  catch({ code, message }: InvalidArgumentError | InvalidPayloadError, context: ArgumentsHost): void {
    const statusCode = HttpStatus.BAD_REQUEST;
    this.host.httpAdapter.reply(context.switchToHttp().getResponse(), { statusCode, code, message }, statusCode);
  }
}
