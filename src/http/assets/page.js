// The parts of the page, its words, and where its task is.

import { formatPhrase } from './phrase.js'

const { id, words } = document.querySelector('main').dataset
const token = new URLSearchParams(location.search).get('token')
const phrases = JSON.parse(words)

/** The reader's own variety of the language that the page is in. */
export const locale = document.documentElement.lang

export const say = (word, values = {}) => formatPhrase(phrases[word], values, locale)

export const knows = (word) => Object.hasOwn(phrases, word)

export const part = (name) => document.querySelector(`[data-part="${name}"]`)

export function write(name, text) {
  const element = part(name)
  if (element.textContent !== text) element.textContent = text
}

/** The address of what the API has at a path below the task. */
export const api = (rest) => `../api/v1/tasks/${id}${rest}${token === null ? '' : `?${new URLSearchParams({ token })}`}`
