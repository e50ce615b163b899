/** highkiq/store: the contract of a store, and the registration of stores that are not Highkiq's own. */

export * from './contract.ts'
export { type OpenStore, registerStore, type StoreSettings } from './open.ts'
