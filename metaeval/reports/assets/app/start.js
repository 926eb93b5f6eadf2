// Read the payload and show the app; if that fails, the plain tables stay.

/** A frame that is not complete: the page is loaded, and printed by programs, when the app is shown. */
function delayLoad() {
  const frame = document.body.appendChild(document.createElement('iframe'))
  frame.hidden = true
  const inside = frame.contentDocument // none in a page of `metaeval view`, which may reach no other
  inside?.open()
  return () => {
    inside?.close()
    frame.remove()
  }
}

/** Paper has no buttons: what is folded in <details> is opened while the page is printed, but for prompts and signatures. */
function unfoldForPrint() {
  let opened = []
  addEventListener('beforeprint', () => {
    opened = [...document.querySelectorAll('details:not([open], .call, .call details), .words-of-kind:not([open])')]
    for (const details of opened) details.open = true
  })
  addEventListener('afterprint', () => {
    for (const details of opened) details.open = false
  })
}

const loaded = delayLoad()
try {
  const payload = await readPayload()
  vendor.render(html`<${App} study=${studyOf(payload)} />`, document.getElementById('app'))
  unfoldForPrint()
} catch (error) {
  document.documentElement.classList.remove('js')
  document.getElementById('failed').textContent =
    `The interactive report cannot be shown here (${error?.message ?? error}). The plain tables follow.`
} finally {
  loaded()
}
