// Light, dark, or as the system has it. Every colour is a CSS variable, so nothing is drawn again.
const THEMES = ['auto', 'light', 'dark']
const THEME_KEY = 'metaeval-theme'

function storedTheme() {
  try {
    return oneOf(localStorage.getItem(THEME_KEY), THEMES, 'auto')
  } catch {
    return 'auto' // a browser may refuse storage to a page on disk
  }
}

function ThemeButton() {
  const [theme, setTheme] = useState(storedTheme)
  useLayoutEffect(() => {
    document.documentElement.dataset.theme = theme
    try {
      localStorage.setItem(THEME_KEY, theme)
    } catch {
      // then it holds until the page is closed
    }
  }, [theme])
  const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length]
  const sign = { auto: '◐', light: '☀', dark: '☾' }[theme]
  return html`<button type="button" class="theme" aria-label=${`Colours: ${theme}`}
    onClick=${() => setTheme(next)} title=${`Change to ${next}`}>
    <span aria-hidden="true">${sign}</span> <span class="name">Colours: ${theme}</span>
  </button>`
}
