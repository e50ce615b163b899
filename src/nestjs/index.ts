/**
 * Highkiq in NestJS: methods of providers are jobs, and a worker starts and stops with the application.
 *
 * @module highkiq/nestjs
 * @example
 * import { HighkiqModule } from 'highkiq/nestjs'
 * HighkiqModule.forRoot({ url: 'redis://localhost', worker: true })
 */

export { Job } from './job.ts'
export {
  HIGHKIQ,
  type HighkiqDynamicModule,
  HighkiqModule,
  type HighkiqModuleAsyncOptions,
  type HighkiqModuleOptions,
  InjectHighkiq,
} from './module.ts'
