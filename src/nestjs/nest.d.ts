/** The part of NestJS that `highkiq/nestjs` uses, so that this checkout builds without NestJS. A test compiles with the real types. */

declare module '@nestjs/common' {
  export function Inject(token: unknown): ParameterDecorator & PropertyDecorator
  export function Module(metadata: object): ClassDecorator
}

declare module '@nestjs/core' {
  /** A provider or controller of the app. */
  interface InstanceWrapper {
    name: string
    instance: unknown
    isDependencyTreeStatic(): boolean
    isTransient: boolean
  }
  export class DiscoveryModule {}
  export class DiscoveryService {
    getProviders(): InstanceWrapper[]
    getControllers(): InstanceWrapper[]
  }
}
