/** Reduces a settlement that the store refuses again and again: what remains is what it is least likely to refuse. */

import type { Destination, Effect, EventEffect, Settlement } from '../../store/contract.ts'

/**
 * After this many refusals a settlement loses its messages and result, and a job that would run again goes to the dead set
 * instead. After twice as many it loses its effects, so the state of its row stays as it is. `SettlementBuffer` counts.
 */
export const MAX_REFUSALS = 5

/** The code of rows whose job would have run again and goes to the dead set instead. */
const CODE = 'STORE_UNUSABLE'

/**
 * Sends a job that would run again to the dead set, without its locks, and its row's event without messages and result.
 */
export function reducedToDead(settlement: Settlement, now: number): Settlement {
  const { move, also, effects, ...rest } = settlement
  return {
    ...rest,
    move: move && move.to !== 'finished' ? toDead(move, now) : null,
    ...effectsWithoutMessages(effects, move),
    ...(also
      ? { also: also.map(({ to, effects }) => ({ to: toDead(to, now), ...effectsWithoutMessages(effects, to) })) }
      : {}),
  }
}

/** Settles the job without any effect, except that it releases its slots and its locks. */
export function withoutEffects({ effects = [], also, ...rest }: Settlement): Settlement {
  const releases = effects.filter(({ kind }) => kind === 'release-slot' || kind === 'release-unique')
  return {
    ...rest,
    ...(releases.length > 0 ? { effects: releases } : {}),
    ...(also ? { also: also.map(({ to }) => ({ to })) } : {}),
  }
}

function toDead({ text }: Destination, now: number): Destination {
  return { to: 'dead', text, score: now / 1000 }
}

function effectsWithoutMessages(effects: Effect[] | undefined, to: Destination | null): { effects?: Effect[] } {
  if (!effects) return {}
  return {
    effects: effects.flatMap((effect): Effect[] => {
      if (effect.kind === 'iteration') return to ? [] : [{ ...effect, state: null }]
      if (effect.kind === 'keep-unique') return [{ kind: 'release-unique', key: effect.key, holder: effect.holder }]
      return effect.kind === 'event' ? [eventWithoutMessages(effect)] : [effect]
    }),
  }
}

function eventWithoutMessages(effect: EventEffect): EventEffect {
  const { messages: _, result: __, ...rest } = effect
  return rest.status === 'enqueued' ? { ...rest, status: 'error', window: 'leave', code: CODE } : rest
}
