/** Why the server refuses requests, in each language. It loads with the first refusal, so that no page waits for it. */

import { refusals as en } from './en/refusals.ts'
import type { Language } from './index.ts'
import { refusals as ru } from './ru/refusals.ts'
import { refusals as zh } from './zh/refusals.ts'

export type Refusals = Record<keyof typeof en, string>

export const REFUSALS: Record<Language, Refusals> = { en, zh, ru }
