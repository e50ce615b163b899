/** A settlement that the store refuses again and again, with less and less of what it may choke on. */

import type { Destination, Effect, EventEffect, Settlement } from '../../store/contract.ts'

/** After so many refusals it is reduced once, and after as many more once more. */
export const MAX_REFUSALS = 5

/** The code of rows whose job went to the dead set by it. */
const CODE = 'STORE_UNUSABLE'

/** Where it goes nothing else is touched; what is known of a tracked row is told without what anybody wrote. */
export function withoutMessages(settlement: Settlement, now: number): Settlement {
  const { move, also, effects, ...rest } = settlement
  return {
    ...rest,
    move: move && dead(move, now),
    ...bared(effects, move),
    ...(also ? { also: also.map(({ to, effects }) => ({ to: dead(to, now), ...bared(effects, to) })) } : {}),
  }
}

/** The job goes, and nothing changes with it. */
export function withoutEffects({ effects: _, also, ...rest }: Settlement): Settlement {
  return { ...rest, ...(also ? { also: also.map(({ to }) => ({ to })) } : {}) }
}

function dead({ text }: Destination, now: number): Destination {
  return { to: 'dead', text, score: now / 1000 }
}

function bared(effects: Effect[] | undefined, to: Destination | null): { effects?: Effect[] } {
  if (!effects) return {}
  return {
    effects: effects.flatMap((effect): Effect[] => {
      if (effect.kind === 'iteration') return to ? [] : [{ ...effect, state: null }]
      return effect.kind === 'event' ? [bare(effect, to !== null)] : [effect]
    }),
  }
}

function bare(effect: EventEffect, isDead: boolean): EventEffect {
  const { messages: _, result: __, ...rest } = effect
  return isDead ? { ...rest, status: 'error', window: 'leave', code: CODE } : rest
}
