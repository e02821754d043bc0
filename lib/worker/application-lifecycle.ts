import { Inject, Injectable, Module, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';

/** Something that runs while the application is up. Neither method may throw. */
export interface LifecycleParticipant {
  /** Every module's `onApplicationBootstrap` has ended. */
  start(): void;
  /** The application is about to close: no module's `onModuleDestroy` has been called yet. */
  stop(): Promise<void>;
}

/** Tells its participants when the application is up, and when it is about to close. */
@Injectable()
export class ApplicationLifecycle {
  private readonly participants: LifecycleParticipant[] = [];
  private stopping: Promise<void> | null = null;

  join(participant: LifecycleParticipant): void {
    this.participants.push(participant);
  }

  start(): void {
    // An application may be closed while it still starts.
    if (this.stopping !== null) return;
    for (const participant of this.participants) participant.start();
  }

  /** A second call waits for the first and does nothing else. */
  stop(): Promise<void> {
    this.stopping ??= Promise.all(this.participants.map((participant) => participant.stop())).then(() => undefined);
    return this.stopping;
  }
}

/**
 * A module whose hooks come at the outer ends of the application's: last of all at the start, first of all at the stop.
 *
 * Nest runs hooks in the order of a module's distance from the root: at the start from the greatest to the root's, which
 * is 1, and at the stop the other way round. A global module has the greatest, so its own hooks come at the wrong end of
 * both: handlers would run before the application's modules are ready, and drain after these have closed their clients.
 * A distance below the root's puts this module beyond even the root module and its providers.
 */
@Module({ providers: [ApplicationLifecycle], exports: [ApplicationLifecycle] })
export class ApplicationLifecycleModule implements OnApplicationBootstrap, OnModuleDestroy {
  constructor(
    @Inject(ModulesContainer) modules: ModulesContainer,
    @Inject(ApplicationLifecycle) private readonly lifecycle: ApplicationLifecycle,
  ) {
    for (const module of modules.values()) {
      if (module.metatype === ApplicationLifecycleModule) module.distance = -1;
    }
  }

  onApplicationBootstrap(): void {
    this.lifecycle.start();
  }

  onModuleDestroy(): Promise<void> {
    return this.lifecycle.stop();
  }
}
