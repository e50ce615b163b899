/**
 * Guesses the encoding of a text that is not Unicode. Each candidate is judged by the text that the bytes give in it.
 */

/** The letters besides a to z of the languages that use an encoding, one string for each language. */
const WEST = 'äöüß àâæçèéêëîïôœùûüÿ áéíñóúü ãáâàçéêíóôõú àèéìíîòóù éëïöüóá åäöé æøåéôòó áéíóúýðþæö àçèéíïòóúü'.split(
  ' ',
)
const CENTRAL = 'ąćęłńóśźż áčďéěíňóřšťúůýž áäčďéíĺľňóôŕšťúýž áéíóöőúüű ăâîşţșț čćđšž äöüß čšž'.split(' ')
const CYRILLIC = 'ёабвгдежзийклмнопрстуфхцчшщъыьэюя'
const SLAVIC = [CYRILLIC, `${CYRILLIC}іїєґ`, `${CYRILLIC}іў`, `${CYRILLIC}ђјљњћџ`]
const GREEK = ['αβγδεζηθικλμνξοπρσςτυφχψωάέήίόύώϊϋ']
const TURKISH = ['çğıöşüâîû']
const BALTIC = ['ąčęėįšųūž', 'āčēģīķļņšūž', 'äöõüšž']

type Judge = (bytes: Uint8Array, text: string) => number

/**
 * Returns the faults that an encoding starts with when hardly any program writes it today: it must be clearly better, and
 * a few characters are not enough for it.
 */
const rarelyUsed = (bytes: Uint8Array) => (bytes.filter((byte) => byte > 0x7f).length < 12 ? 1 : 0.08)

/** The candidates; when several give the same text, the first one is named. */
const CANDIDATES: readonly [encoding: string, judge: Judge][] = [
  ['windows-1252', (_, text) => implausibility(text, WEST)],
  ['windows-1250', (_, text) => implausibility(text, CENTRAL)],
  ['iso-8859-2', (_, text) => implausibility(text, CENTRAL)],
  ['windows-1251', (_, text) => implausibility(text, SLAVIC, true)],
  ['koi8-r', (bytes, text) => rarelyUsed(bytes) + implausibility(text, SLAVIC, true)],
  ['ibm866', (bytes, text) => rarelyUsed(bytes) + implausibility(text, SLAVIC, true)],
  ['windows-1253', (_, text) => implausibility(text, GREEK, true)],
  ['windows-1254', (_, text) => implausibility(text, TURKISH)],
  ['windows-1257', (_, text) => implausibility(text, BALTIC)],
  ['macintosh', (bytes, text) => rarelyUsed(bytes) + implausibility(text, WEST)],
  [
    'gb18030',
    (bytes, text) => ofPairs(bytes, text, { kindOf: chinese, frequent: CHINESE, has: (lead) => lead >= 0xd0 }),
  ],
  [
    'big5',
    (bytes, text) =>
      ofPairs(bytes, text, { kindOf: traditional, frequent: TRADITIONAL, has: (_, trail) => trail < 0x7f }),
  ],
  ['euc-kr', (bytes, text) => ofPairs(bytes, text, { kindOf: korean, frequent: KOREAN })],
  ['euc-jp', (bytes, text) => ofPairs(bytes, text, { kindOf: japanese, frequent: JAPANESE })],
  ['shift_jis', (bytes, text) => ofPairs(bytes, text, { kindOf: shiftJis, frequent: JAPANESE })],
]

const PAIRS: ReadonlySet<string> = new Set(['gb18030', 'big5', 'euc-kr', 'euc-jp', 'shift_jis'])

export interface Reading {
  encoding: string
  text: string
}

/**
 * Returns one reading when it is clearly the best; else all possible ones, perhaps none. If `likely` is one of them, it
 * is the only one.
 */
export function guessEncoding(sample: Uint8Array, likely?: string): Reading[] {
  const readings: (Reading & { faults: number })[] = []
  for (const [encoding, judge] of CANDIDATES) {
    const text = textIn(encoding, sample)
    if (text !== undefined) readings.push({ encoding, text, faults: judge(sample, text) })
  }
  const [best, ...others] = readings.sort((a, b) => a.faults - b.faults)
  if (!best || best.faults > (PAIRS.has(best.encoding) ? MOST_FAULTS_OF_PAIRS : MOST_FAULTS)) return []
  const few = Math.max(0, 1 - sample.filter((byte) => byte > 0x7f).length / FEW_BYTES) / 2
  const close = others.filter(({ encoding, faults }) => {
    const clear = CLEAR + (PAIRS.has(encoding) || PAIRS.has(best.encoding) ? few : 0)
    return faults < best.faults + clear
  })
  const expected = [best, ...close].find(({ encoding }) => encoding === likely)
  if (expected) return [expected]
  const rivals = close.filter(({ text }) => text !== best.text)
  // Almost any bytes are valid in an encoding without pairs, so encodings with pairs come first.
  return [best, ...rivals.sort((a, b) => Number(PAIRS.has(b.encoding)) - Number(PAIRS.has(a.encoding)))]
}

/** With more faults than this the text is in no known encoding. */
const MOST_FAULTS = 0.4
const MOST_FAULTS_OF_PAIRS = 0.34
/**
 * The best encoding must be better than the others by this. The margin grows for few bytes when one of the two has
 * pairs.
 */
const CLEAR = 0.12
const FEW_BYTES = 48

const IMPOSSIBLE = /[\u0080-\u009f\ufffd\p{Cn}\p{Co}]/u

/** Decodes the bytes, and leaves out a cut last character; undefined when the encoding can't have them. */
function textIn(encoding: string, bytes: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder(encoding, { fatal: true }).decode(bytes, { stream: true })
    return IMPOSSIBLE.test(text) ? undefined : text
  } catch {
    return undefined
  }
}

const WORD = /[^\s!-,./:-@[-`{-~]*[^\0-\x7f][^\s!-,./:-@[-`{-~]*/g
const SYMBOLS = '[\\d°€£§©®™²³½¼¾·…–—“”„‘’‚«»¿¡ºª±×µ\\u00a0\\u00ad‰•№-]'
const EDGES = new RegExp(`^${SYMBOLS}+|${SYMBOLS}+$`, 'gu')
const ALONE = /^[авиксоуяіїєжебήοηό]$/u
/** Matches Greek words without a stressed vowel and longer Cyrillic words without a vowel; words in capitals need neither. */
const UNLIKE = /^(?=.*[α-ω])(?!.*[άέήίόύώΆΈΉΊΌΎΏ])[α-ωΑ-Ω]{3,}$|^[бвгджзйклмнпрстфхцчшщъь]{4,}$/u

/**
 * Returns the share of words that no language of the encoding has, plus half the share of letters that its likeliest
 * language lacks.
 */
function implausibility(text: string, alphabets: readonly string[], isOwnScript = false): number {
  let words = 0
  let wrong = 0
  let letters = 0
  const known = alphabets.map(() => 0)
  for (const [word] of text.matchAll(WORD)) {
    const bare = word.replace(EDGES, '')
    const special = bare
      .replaceAll('İ', 'ı')
      .toLowerCase()
      .replace(/[\0-\x7f]/g, '')
    if (special === '') continue
    words++
    letters += special.length
    const own = alphabets.map((alphabet) => [...special].filter((letter) => alphabet.includes(letter)).length)
    for (const [i, count] of own.entries()) known[i] = (known[i] as number) + count
    const isCovered = own.includes([...special].length)
    const isCased = !/\p{Ll}\p{Lu}|\p{Lu}{2}\p{Ll}/u.test(bare)
    const isMixed = isOwnScript
      ? /[a-z]/i.test(bare) || UNLIKE.test(bare) || (bare.length === 1 && !ALONE.test(special))
      : /[^\0-\x7f]{4}/.test(bare)
    if (!isCovered || !isCased || isMixed) wrong++
  }
  return words === 0 ? 0 : wrong / words + (1 - Math.max(...known) / letters) / 2
}

type Kind = 'usual' | 'odd' | 'symbol'
type KindOf = (lead: number, trail: number) => Kind

const chinese: KindOf = (lead, trail) => {
  if (trail < 0xa1) return 'odd'
  if (lead >= 0xa1 && lead <= 0xa3) return 'symbol'
  return lead >= 0xb0 && lead <= 0xd7 ? 'usual' : 'odd'
}
const traditional: KindOf = (lead) => (lead <= 0xa3 ? 'symbol' : lead <= 0xc6 ? 'usual' : 'odd')
const korean: KindOf = (lead, trail) => {
  if (trail < 0xa1) return 'odd'
  if (lead >= 0xa1 && lead <= 0xa3) return 'symbol'
  return lead >= 0xb0 && lead <= 0xc8 ? 'usual' : 'odd'
}
const japanese: KindOf = (lead) => {
  if (lead >= 0xa1 && lead <= 0xa3) return 'symbol'
  return lead === 0xa4 || lead === 0xa5 || (lead >= 0xb0 && lead <= 0xcf) ? 'usual' : 'odd'
}
const shiftJis: KindOf = (lead, trail) => {
  if (lead === 0x81 || (lead === 0x82 && trail < 0x9f)) return 'symbol'
  return lead === 0x82 || (lead === 0x83 && trail <= 0x96) || (lead >= 0x88 && lead <= 0x97) ? 'usual' : 'odd'
}

/** Frequent characters of texts, names and places. */
const CHINESE =
  '的一是不了在人有我他这中大来上个国和地到说们为子你出道也时年得就那要下以生会自着去过家学对可后小心多天能好都然没于起还发成事只作当想看文无开手十用主行方如前所本见经头面公同三已老从动两长知民样现分将外身些与高意进法此实回二理美点月明其种声全工话者向情部正名定女问力机等最新什位因重电四第门次东政海口使教西再平真世气信北少关并内加化由代军产入先山五水万市体别处总才场师书比住员九性通目华报立命张活数件安表原车白应路期提金品价格货号码商单电话址备注客户订付款王李刘陈杨黄赵吴周徐孙马朱胡林郭何高罗州京广深圳杭江苏浙湖南河省县区街镇村伟芳娜敏静丽强军杰涛'
const TRADITIONAL =
  '的一是不了在人有我他這中大來上個國和地到說們為子你出道也時年得就那要下以生會自著去過家學對可後小心多天能好都然沒於起還發成事只作當想看文無開手十用主行方如前所本見經頭面公同三已老從動兩長知民樣現分將外身些與高意進法此實回二理美點月明其種聲全工話者向情部正名定女問力機等最新什位因重電四第門次東政海口使教西再平真世氣信北少關並內加化由代軍產入先山五水萬市體別處總才場師書比住員九性通目華報立命張活數件安表原車白應路期提金品價格貨號碼商單址備註客戶訂付款王李劉陳楊黃趙吳周徐孫馬朱胡林郭何高羅臺台灣中南縣區鄉鎮村街段巷樓'
const KOREAN =
  '이다는에을의가로고하지한사기도인리자어대나시일서를수정부장주해아전은그만있여과들니면적성보구제상스조오동라원안용으신소비경미선어위유세마연공산모무생계개화요바우년영재진명중회국음세통품방식강학금관문물차김박최임윤황송류홍번호이름가격시도울산광남북천포석민준현지혜은희철태호빈결제배송없품절색변경확급고객전화주소우편단총액'
const JAPANESE =
  '日本人大年田中山川東京都市区町村県株式会社高小学子上下一二三四五六七八九十木林森石井藤佐鈴島野原松村渡辺伊加吉橋斎清阪名古屋福岡神戸横浜札幌仙台千葉埼玉奈良愛知静新長広熊沖縄北南西道府丁目番号品商価格在庫切注文色良質確認様氏住所電話郵便月時分円税込数量単合計備考至急発送変更希望太郎花美和正明'
const KANA = /[ぁ-んァ-ヶー]/u

/** A text with this many different characters must have frequent ones. */
const ENOUGH = 12
/** The weight of half-width kana: they are rare, and pairs of other encodings read well as them. */
const HALF_WIDTH = 0.2
/** The weight of a text that has only rare characters. */
const RARE = 0.4

/**
 * Returns the share of characters that are odd in the language, plus a part of the share that is not frequent in it.
 * Some characters must satisfy `has`; otherwise the text is in another language, whose characters lie among those of
 * this one.
 */
function ofPairs(
  bytes: Uint8Array,
  text: string,
  { kindOf, frequent, has }: { kindOf: KindOf; frequent: string; has?: (lead: number, trail: number) => boolean },
): number {
  const seen = new Map<number, boolean>()
  let all = 0
  let odd = 0
  let halves = 0
  for (let at = 0; at < bytes.length; at++) {
    const lead = bytes[at] as number
    if (lead < 0x80) continue
    if (kindOf === shiftJis && lead >= 0xa1 && lead <= 0xdf) {
      const start = at
      while ((bytes[at + 1] as number) >= 0xa1 && (bytes[at + 1] as number) <= 0xdf) at++
      // A half-width kana is plausible only beside others.
      const isAlone = at === start || (bytes[start - 1] as number) >= 0x80 || (bytes[at + 1] as number) >= 0x80
      all += at - start + 1
      if (isAlone) odd += at - start + 1
      else halves += at - start + 1
      continue
    }
    const trail = bytes[at + 1]
    if (trail === undefined) break
    const kind = kindOf(lead, trail)
    at++
    if (kind === 'symbol') continue
    all++
    const isInLatin = isLetter(bytes[at - 2]) && isLetter(bytes[at + 1])
    if (kind === 'odd' || isInLatin) odd++
    else seen.set(lead * 256 + trail, has?.(lead, trail) ?? true)
  }
  if (all === 0) return 0
  const lacking = seen.size >= ENOUGH && ![...seen.values()].includes(true)
  const letters = [...text].filter((letter) => LETTER.test(letter))
  const rare = letters.filter((letter) => !frequent.includes(letter) && !(frequent === JAPANESE && KANA.test(letter)))
  // Among a few characters none needs to be frequent.
  const enough = Math.max(letters.length, ENOUGH * 2)
  return (
    (2 * odd) / all +
    (halves / Math.max(all, ENOUGH * 4)) * HALF_WIDTH +
    (lacking ? 0.3 : 0) +
    (rare.length / enough) * RARE
  )
}

const LETTER = /[\u3041-\u30ff\p{Script=Han}\p{Script=Hangul}]/u

const isLetter = (byte: number | undefined) => byte !== undefined && /[a-z]/i.test(String.fromCharCode(byte))
