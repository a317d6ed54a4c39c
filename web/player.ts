// A player for a sound or a film, in the look of the console. One plays at a time on a page, as loud as the last one was.
import { button, element, icon } from './element.ts'
import { formatLength } from './job-words.ts'
import { toFullWidth } from './output-shape.ts'

/** Safari on a phone shows nothing but a film itself in full screen. */
type Film = HTMLVideoElement & { readonly webkitEnterFullscreen?: () => void }

interface PartialShape {
  readonly width?: number | null | undefined
  readonly height?: number | null | undefined
}

const heard = { volume: 1, muted: false }
let stopOther: () => void = () => {}

/** Stops what else plays on the page; `stop` stops what begins now. */
export function playAlone(stop: () => void): void {
  if (stop !== stopOther) stopOther()
  stopOther = stop
}

/**
 * Puts media and controls for them into one element; the browser's own controls go when ours are there.
 * @param media a `video` or `audio` element with `controls`
 * @param words what is heard or seen
 * @param shape pixels of a film, if known: it has its place before it is loaded
 */
export function player(media: HTMLMediaElement, words: string, shape: PartialShape = {}): HTMLElement {
  const play = button('Play', toggle, { icon: 'play', look: 'bare square', wordless: true })
  const seek = element('input', { ...range, class: 'slider position', 'aria-label': 'Position', oninput: seekTo })
  const time = element('span', { class: 'player-time' })
  const mute = button('Mute', () => (media.muted = !media.muted), { icon: 'loud', look: 'bare square', wordless: true })
  const volume = element('input', { ...range, class: 'slider volume', 'aria-label': 'Volume', oninput: setVolume })
  const bar = element('div', { class: 'player-bar' }, play, seek, time, mute, volume)
  const whole = element('div', { class: 'player', role: 'group', 'aria-label': words, onkeydown: step }, media, bar)

  function toggle(): void {
    // Why it cannot be played is an event of its own.
    if (media.paused) media.play().catch(() => {})
    else media.pause()
  }
  function stop(): void {
    media.pause()
  }
  function seekTo(): void {
    media.currentTime = seek.valueAsNumber
    showTime()
  }
  function setVolume(): void {
    media.volume = volume.valueAsNumber
    media.muted = media.volume === 0
  }
  /** The arrows seek, wherever the focus is, and mean nothing else to the page around. */
  function step(event: KeyboardEvent): void {
    const way = { ArrowLeft: -1, ArrowRight: 1 }[event.key]
    if (way === undefined || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return
    event.stopPropagation()
    if (event.target === volume || seek.disabled) return
    event.preventDefault()
    media.currentTime = Math.max(0, Math.min(media.duration, media.currentTime + way * (media.duration > 60 ? 5 : 1)))
    showTime()
  }
  function showTime(): void {
    const { currentTime, duration } = media
    const known = duration > 0 && Number.isFinite(duration)
    seek.disabled = !known
    seek.max = String(known ? duration : 1)
    fill(seek, currentTime)
    const [now, length] = [formatLength(currentTime), known ? formatLength(duration) : null]
    const shown = length === null ? now : `${now} / ${length}`
    if (time.textContent === shown) return
    time.textContent = shown
    seek.setAttribute('aria-valuetext', length === null ? now : `${now} of ${length}`)
  }
  function showPlaying(): void {
    if (media.paused) name(play, 'Play', 'play')
    else {
      media.volume = heard.volume
      media.muted = heard.muted
      playAlone(stop)
      name(play, 'Pause', 'pause')
      requestAnimationFrame(follow)
    }
  }
  /** Events of the time are four a second: too few for a short film. */
  function follow(): void {
    showTime()
    if (!media.paused && whole.isConnected) requestAnimationFrame(follow)
  }
  function showVolume(): void {
    heard.volume = media.volume
    heard.muted = media.muted
    fill(volume, media.muted ? 0 : media.volume)
    if (media.muted) name(mute, 'Unmute', 'muted')
    else name(mute, 'Mute', 'loud')
  }
  function fail(): void {
    for (const control of [play, seek, mute, volume]) control.disabled = true
    time.textContent = 'Cannot be played'
  }

  for (const event of ['loadedmetadata', 'durationchange', 'seeked', 'timeupdate'])
    media.addEventListener(event, showTime)
  for (const event of ['play', 'pause', 'ended']) media.addEventListener(event, showPlaying)
  media.addEventListener('volumechange', showVolume)
  media.addEventListener('error', fail)
  media.volume = heard.volume
  media.muted = heard.muted
  showTime()
  showVolume()
  if (media instanceof HTMLVideoElement) {
    const { width, height } = shape
    if (width && height) {
      whole.style.setProperty('--film', toFullWidth({ width, height }))
      media.style.aspectRatio = `${width} / ${height}`
    }
    media.addEventListener('click', toggle)
    const full = fullScreen(whole, media)
    if (full) bar.append(full)
  }
  media.controls = false
  return whole
}

const range = { type: 'range', min: 0, max: 1, step: 0.01 }

function fill(slider: HTMLInputElement, value: number): void {
  slider.value = String(value)
  slider.style.setProperty('--filled', `${(value / Number(slider.max)) * 100}%`)
}

/** Gives a button other words and another icon. */
function name(clicked: HTMLButtonElement, words: string, sign: string): void {
  if (clicked.ariaLabel === words) return
  clicked.ariaLabel = words
  clicked.title = words
  clicked.replaceChildren(icon(sign))
}

/** A button that shows a film and its controls on the whole screen; null where a browser cannot. */
function fullScreen(whole: HTMLElement, film: Film): HTMLButtonElement | null {
  const enter = film.webkitEnterFullscreen
  if (!document.fullscreenEnabled && !enter) return null
  const full = button('Full screen', change, { icon: 'full', look: 'bare square', wordless: true })
  function change(): void {
    if (document.fullscreenElement === whole) void document.exitFullscreen()
    else if (document.fullscreenEnabled) whole.requestFullscreen().catch(() => {})
    else enter?.call(film)
  }
  whole.addEventListener('fullscreenchange', () => {
    if (document.fullscreenElement === whole) name(full, 'Leave full screen', 'small')
    else name(full, 'Full screen', 'full')
  })
  return full
}
