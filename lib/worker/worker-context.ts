import { hostname } from 'node:os';
import { Inject, Injectable, Logger, Optional } from '@nestjs/common';
import { MILLRACE_OPTIONS, type ResolvedMillraceOptions } from '../millrace.options';
import { newId } from '../model/ids';
import type { IClock } from '../model/time';
import { IJobStorage } from '../storage/job-storage';
import { IStorageNotifier } from '../storage/storage-notifier';
import { OutageLog } from './outage-log';

const LONGEST_HOST = 64;

/** What the parts of one node share. */
@Injectable()
export class WorkerContext {
  readonly logger = new Logger('Millrace');
  readonly outages = new OutageLog(this.logger);
  readonly host = hostname().slice(0, LONGEST_HOST);
  readonly startedAt: Date;
  /** Owner of this node's claims: new with every start of a process, so that no two ever share one. */
  readonly id: string;

  constructor(
    @Inject(IJobStorage) readonly storage: IJobStorage,
    @Inject(MILLRACE_OPTIONS) readonly options: ResolvedMillraceOptions,
    /** Null where the store cannot push wake-ups. */
    @Optional() @Inject(IStorageNotifier) readonly notifier: IStorageNotifier | null = null,
  ) {
    this.startedAt = options.clock.now();
    this.id = `${this.host}:${newId(this.startedAt)}`;
  }

  get clock(): IClock {
    return this.options.clock;
  }
}
