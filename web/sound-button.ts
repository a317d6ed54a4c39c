// A button that plays a short sound, one at a time on the page.
import { element, icon } from './element.ts'
import { playAlone } from './player.ts'

/** Plays and stops the sound; `name` is what is heard. */
export function soundButton(url: string, name: string): HTMLButtonElement {
  let audio: HTMLAudioElement | null = null
  const label = (words: string, sign: string): void => {
    play.ariaLabel = `${words} ${name}`
    play.title = `${words} ${name}`
    play.replaceChildren(icon(sign))
  }
  function stop(): void {
    audio?.pause()
    audio = null
    label('Hear', 'play')
  }
  function start(): void {
    playAlone(stop)
    audio = new Audio(url)
    audio.addEventListener('ended', stop)
    audio.addEventListener('error', stop)
    label('Stop', 'stop')
    audio.play().catch(stop)
  }
  const play = element('button', { type: 'button', class: 'hear', onclick: () => (audio ? stop() : start()) })
  label('Hear', 'play')
  return play
}
