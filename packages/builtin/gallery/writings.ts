// Words in every script that pictures may have, and headlines of every length, for the gallery.

import type { JsonObject } from '@mediagen/engine/engine.ts'

interface Writing extends JsonObject {
  readonly title: string
  readonly subtitle: string
  readonly badge: string
  readonly footer: string
}

const words = (title: string, subtitle: string, badge: string, footer: string): Writing => ({
  title,
  subtitle,
  badge,
  footer,
})

/** A night market in each script. */
export const scripts: Readonly<Record<string, Writing>> = {
  Polish: words(
    'Zażółć gęślą jaźń',
    'Czterdzieści kuchni pod jednym dachem',
    '12 czerwca',
    'Hala w Łodzi – od szóstej',
  ),
  Vietnamese: words('Chợ đêm Sài Gòn', 'Bốn mươi gian bếp dưới một mái nhà', '12 tháng 6', 'Bến cảng cũ · sáu giờ'),
  Cyrillic: words('Ночной рынок у реки', 'Сорок кухонь под одной крышей', '12 июня', 'Старая гавань · вход с шести'),
  Greek: words('Νυχτερινή αγορά', 'Σαράντα κουζίνες κάτω από μία στέγη', '12 Ιουνίου', 'Παλιό λιμάνι · από τις έξι'),
  Arabic: words('سوق الليل', 'أربعون مطبخًا تحت سقف واحد (IKEA 2026)', '12 يونيو', 'الميناء القديم · السادسة'),
  Hebrew: words('שוק הלילה', 'ארבעים מטבחים תחת קורת גג אחת', '12 ביוני', 'הנמל הישן · בשעה 18:00'),
  Thai: words('ตลาดกลางคืน', 'สี่สิบครัวใต้หลังคาเดียวกัน', '12 มิถุนายน', 'ท่าเรือเก่า · หกโมงเย็น'),
  Devanagari: words('रात का बाज़ार', 'एक छत के नीचे चालीस रसोइयाँ', '12 जून', 'पुराना बंदरगाह · छह बजे से'),
  'Chinese, simplified': words('夏日夜市', '四十家厨房，同在一个屋檐下。', '六月十二日', '老港大厅 · 六点开门'),
  'Chinese, traditional': words('台灣夏日夜市', '四十間廚房，同在一個屋簷下。', '六月十二日', '舊港大廳 · 六點開門'),
  Japanese: words('「夏の夜市」へようこそ', '四十の屋台が、ひとつの屋根の下に。', '六月十二日', '旧港ホール・十八時'),
  Korean: words('서울의 밤 시장', '마흔 개의 부엌이 한 지붕 아래', '6월 12일', '옛 항구 홀 · 여섯 시'),
  Emoji: words('Night Market 🎉 🍜', 'Noodles 🍜, dumplings 🥟 and music 🎶', '🎈 12 June', 'Old Harbour ⚓ 18:00'),
}

/** Headlines of all lengths. */
export const headlines: Readonly<Record<string, string>> = {
  'one word': 'Hush',
  'one long word': 'Donaudampfschifffahrtsgesellschaftskapitän',
  'three lines': 'Forty kitchens under one roof, from dusk until the last train',
  'very long':
    'A very long headline about everything that could possibly happen in the city this summer, with some more words',
  'two scripts': 'Open day — День открытых дверей',
  'kana of both kinds': 'ラーメンとカフェのひみつ',
  'an address': 'https://example.com/some/very/long/address',
}
