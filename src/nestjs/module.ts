/** `HighkiqModule`: an app as a part of a NestJS application, with the jobs of its providers. */

import { Inject, Module } from '@nestjs/common'
import { DiscoveryModule, DiscoveryService } from '@nestjs/core'
import { Highkiq, type HighkiqOptions } from '../app.ts'
import type { JobContext } from '../job/context.ts'
import { invalidOption } from '../job/errors.ts'
import { shown } from '../job/options.ts'
import type { Worker } from '../worker/lifecycle/worker.ts'
import type { WorkerOptions } from '../worker/options.ts'
import { jobMethodsOf } from './job.ts'

/** The token of the app, for `overrideProvider` and factories. `@InjectHighkiq()` uses it. */
export const HIGHKIQ: symbol = Symbol.for('highkiq.nestjs.app')
const OPTIONS: symbol = Symbol.for('highkiq.nestjs.options')

/** The options of `new Highkiq()`, and of the worker. */
export interface HighkiqModuleOptions extends HighkiqOptions {
  /** `true`, or options of `hq.worker()`: a worker starts and stops with the application. Default false: it only pushes. */
  worker?: boolean | WorkerOptions
}

/** The options of `forRootAsync`. `inject` are the tokens of the arguments of `useFactory`, which `imports` provide. */
export interface HighkiqModuleAsyncOptions<Args extends unknown[] = never[]> {
  imports?: (new (...args: never[]) => unknown)[]
  inject?: (symbol | string | (abstract new (...args: never[]) => unknown))[]
  useFactory(...args: Args): HighkiqModuleOptions | Promise<HighkiqModuleOptions>
}

/** What NestJS needs to know of a module: its DynamicModule. */
export interface HighkiqDynamicModule {
  module: typeof HighkiqModule
  global: true
  // biome-ignore lint/suspicious/noExplicitAny: NestJS checks these; its own type of them is any, too
  imports: any[]
  // biome-ignore lint/suspicious/noExplicitAny: as above
  providers: any[]
  exports: symbol[]
}

/** Injects the app: `constructor(@InjectHighkiq() private readonly hq: Highkiq) {}`. */
export function InjectHighkiq(): ParameterDecorator & PropertyDecorator {
  return Inject(HIGHKIQ)
}

/**
 * Adds a Highkiq app to a NestJS application, for all of its modules. The methods with `@Job()` of its providers and
 * controllers become jobs when the modules are initialized. The worker stops in `onModuleDestroy`, before the modules close
 * their connections, and the app closes in `onApplicationShutdown`.
 */
export class HighkiqModule {
  readonly #hq: Highkiq
  readonly #options: HighkiqModuleOptions
  readonly #discovery: DiscoveryService
  #worker: Worker | undefined

  /** @internal Nest calls it. */
  constructor(hq: Highkiq, options: HighkiqModuleOptions, discovery: DiscoveryService) {
    this.#hq = hq
    this.#options = options
    this.#discovery = discovery
  }

  /** @throws INVALID_OPTION when the application starts */
  static forRoot(options: HighkiqModuleOptions = {}): HighkiqDynamicModule {
    return HighkiqModule.forRootAsync({ useFactory: () => options })
  }

  /** Takes the options from other providers, for example a ConfigService. */
  static forRootAsync<Args extends unknown[]>(options: HighkiqModuleAsyncOptions<Args>): HighkiqDynamicModule {
    const { imports = [], inject = [], useFactory } = options
    const appOf = ({ worker: _, ...rest }: HighkiqModuleOptions) => new Highkiq(rest)
    return {
      module: HighkiqModule,
      global: true,
      imports: [DiscoveryModule, ...imports],
      providers: [
        { provide: OPTIONS, useFactory, inject },
        { provide: HIGHKIQ, useFactory: appOf, inject: [OPTIONS] },
      ],
      exports: [HIGHKIQ],
    }
  }

  /** Defines the jobs. @throws INVALID_OPTION, DUPLICATE_JOB */
  onModuleInit(): void {
    const wrappers = [...this.#discovery.getProviders(), ...this.#discovery.getControllers()]
    // An alias (useExisting) has the instance of another provider.
    const seen = new Set<unknown>()
    for (const wrapper of wrappers) {
      const { instance } = wrapper
      if (typeof instance !== 'object' || instance === null || seen.has(instance)) continue
      seen.add(instance)
      for (const { name, options, method } of jobMethodsOf(instance)) {
        if (wrapper.isTransient || !wrapper.isDependencyTreeStatic()) {
          throw invalidOption(
            `@Job(${shown(name)}): ${wrapper.name} must be a singleton, because a job has no request: remove its scope, or resolve what has one by ModuleRef in the job`,
          )
        }
        const handler = instance as Record<string | symbol, (ctx: JobContext, ...args: unknown[]) => unknown>
        this.#hq.job(name, options, (ctx, ...args: unknown[]) => handler[method]?.(ctx, ...args))
      }
    }
  }

  async onApplicationBootstrap(): Promise<void> {
    const { worker = false } = this.#options
    if (!worker) return
    this.#worker = this.#hq.worker(worker === true ? {} : worker)
    await this.#worker.start()
  }
  /** Runs before the modules close their connections. Later pushes of requests that are still open are stored. */
  async onModuleDestroy(): Promise<void> {
    await this.#worker?.stop()
  }

  async onApplicationShutdown(): Promise<void> {
    await this.#hq.close()
  }
}

for (const [index, token] of [HIGHKIQ, OPTIONS, DiscoveryService].entries()) {
  Inject(token)(HighkiqModule, undefined as unknown as string, index)
}
Module({})(HighkiqModule)
