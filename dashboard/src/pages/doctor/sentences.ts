/**
 * Returns the sentences of findings in the viewer's language, by their codes. The English ones come from the server;
 * the others are loaded with this page.
 */

import { useEffect, useState } from 'preact/hooks'
import type { Diagnosis } from '../../api/types.ts'
import { bytes } from '../../format/number.ts'
import { duration } from '../../format/time.ts'
import { formatPhrase, type Language, language, locale, type Phrase } from '../../i18n/index.ts'

type Texts = Readonly<Record<string, Phrase>>
type Finding = Diagnosis['findings'][number]

const LOADERS: Record<Language, () => Promise<Texts>> = {
  en: async () => ({}),
  zh: async () => (await import('../../i18n/zh/findings.ts')).findings,
  ru: async () => (await import('../../i18n/ru/findings.ts')).findings,
}

/** Returns the texts in the language of the viewer; undefined while they are loaded. */
export function useFindingTexts(): Texts | undefined {
  const wanted = language.value
  const [loaded, setLoaded] = useState<{ language: Language; texts: Texts }>()
  useEffect(() => {
    let isWanted = true
    // Without them, the page is in English.
    LOADERS[wanted]()
      .catch((): Texts => ({}))
      .then((texts) => isWanted && setLoaded({ language: wanted, texts }))
    return () => {
      isWanted = false
    }
  }, [wanted])
  return loaded?.language === wanted ? loaded.texts : undefined
}

export interface Sentence {
  text: string
  /** Undefined for the language of the page. */
  lang: 'en' | undefined
}

/** Returns the sentences of a finding and its advice. One without a known code keeps the English ones of the server. */
export function sentencesOf(
  { code = '', params = {}, text, advice }: Finding,
  texts: Texts,
): { text: Sentence; advice: Sentence | undefined } {
  const values = Object.fromEntries(Object.entries(params).map(([name, value]) => [name, shown(name, value)]))
  const sentence = (key: string, english: string): Sentence =>
    Object.hasOwn(texts, key)
      ? { text: formatPhrase(texts[key] as Phrase, values, locale()), lang: undefined }
      : { text: english, lang: 'en' }
  return { text: sentence(code, text), advice: advice === undefined ? undefined : sentence(`${code}.advice`, advice) }
}

function shown(name: string, value: string | number): string | number {
  if (typeof value === 'string') return value
  if (/seconds$/i.test(name)) return duration(value)
  return /bytes$/i.test(name) ? bytes(value) : value
}
