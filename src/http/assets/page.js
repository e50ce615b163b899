// The parts of the page, its phrases, and the URL of its task.

import { formatPhrase } from './phrase.js'

const { id, phrases: texts } = document.querySelector('main').dataset
const token = new URLSearchParams(location.search).get('token')
const phrases = JSON.parse(texts)

/** The regional variety of the page's language. */
export const locale = document.documentElement.lang

export const say = (word, values = {}) => formatPhrase(phrases[word], values, locale)

export const knows = (word) => Object.hasOwn(phrases, word)

export const part = (name) => document.querySelector(`[data-part="${name}"]`)

export function write(name, text) {
  const element = part(name)
  if (element.textContent !== text) element.textContent = text
}

/** Returns the URL of a path below the task in the API. */
export const api = (rest) => `../api/v1/tasks/${id}${rest}${token === null ? '' : `?${new URLSearchParams({ token })}`}`
