/**
 * The contract of a store, and the registration of stores that are not Highkiq's own.
 *
 * @module highkiq/store
 */

export * from './contract.ts'
export { type OpenStore, registerStore, type StoreSettings } from './open.ts'
