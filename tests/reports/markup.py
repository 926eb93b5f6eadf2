"""What a page of HTML says, with every tag closed."""

from __future__ import annotations

from html.parser import HTMLParser


class Markup(HTMLParser):
    """Sees that each tag is closed, and collects texts, tags and scopes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text: list[str] = []
        self.seen: list[str] = []
        self.scopes: list[str | None] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        self.scopes += [value for name, value in attrs if name == "scope"]
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)
