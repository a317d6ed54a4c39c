// The bar of pages that the server has written: about problems, and where there is no page.
import { openBar } from './bar.ts'

if (location.pathname.startsWith('/problems'))
  document.querySelector('#navigation [data-view="docs"]')?.setAttribute('aria-current', 'page')
openBar()
