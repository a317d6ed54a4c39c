// Small numbers in words.

/** From 0 to 19. */
export const ones =
  'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen'.split(
    ' ',
  )
const tens = '- - twenty thirty forty fifty sixty seventy eighty ninety'.split(' ')

/** A number from 0 to 99 in words. */
export function sayTens(number: number): string {
  const [ten, one] = [Math.floor(number / 10), number % 10]
  if (number < 20) return ones[number] ?? ''
  return one === 0 ? (tens[ten] ?? '') : `${tens[ten] ?? ''} ${ones[one] ?? ''}`
}
