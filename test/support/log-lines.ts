import type { LoggerService } from '@nestjs/common';

export interface LogLine {
  readonly level: 'error' | 'warn' | 'log' | 'debug';
  readonly text: string;
}

/** Keeps what an application logs, for tests to read. */
export class LogLines implements LoggerService {
  readonly lines: LogLine[] = [];

  error(message: unknown): void {
    this.add('error', message);
  }

  warn(message: unknown): void {
    this.add('warn', message);
  }

  log(message: unknown): void {
    this.add('log', message);
  }

  debug(message: unknown): void {
    this.add('debug', message);
  }

  /** The lines that hold `text`, worse ones than `log` only. */
  complaints(text = ''): string[] {
    return this.lines
      .filter(({ level, text: line }) => (level === 'error' || level === 'warn') && line.includes(text))
      .map((line) => line.text);
  }

  private add(level: LogLine['level'], message: unknown): void {
    this.lines.push({ level, text: String(message) });
  }
}
