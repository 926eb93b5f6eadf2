// What every view is written with. Text reaches the page as text nodes only, whatever it holds.
const { Fragment, h, useEffect, useLayoutEffect, useMemo, useRef, useState } = vendor
const html = vendor.htm.bind(h)

/** Text from the data: its own direction, and it wraps wherever it must. */
const Words = ({ children, ...props }) => html`<bdi class="words" dir="auto" ...${props}>${children}</bdi>`

/** Whether the window is as a media query says. */
function useMatch(query) {
  const [is, setIs] = useState(() => matchMedia(query).matches)
  useEffect(() => {
    const list = matchMedia(query)
    const follow = () => setIs(list.matches)
    list.addEventListener('change', follow)
    return () => list.removeEventListener('change', follow)
  }, [query])
  return is
}

const plural = (n, noun) => `${count(n)} ${noun}${n === 1 || noun.endsWith('s') ? '' : 's'}`

/** "a, b and c" */
function listed(parts) {
  return parts.length < 2 ? parts.join('') : `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`
}

/** Words from the payload with the apostrophe that this page has. */
const typeset = (text) => text.replaceAll("'", '’')

const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1)
