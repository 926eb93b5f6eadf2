"""Text shown as it is, in the formats that give some characters a meaning."""

from __future__ import annotations

import re

_MARKDOWN = re.compile(r"([\\`*_{}\[\]|~#$])")
_ENTITY = re.compile(r"&(?=[#\w])")
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "'": r"\textquotesingle{}",
    "`": r"\textasciigrave{}",
    "[": "{[}",  # after a line end, a bracket or a star would belong to it
    "]": "{]}",
    "*": "{*}",
    "—": "---",
    "–": "--",
    "×": r"$\times$",
    "ρ": r"$\rho$",
    "τ": r"$\tau$",
    "→": r"$\rightarrow$",
}
_TABLE = str.maketrans(_LATEX)


def markdown(text: str) -> str:
    """Return text that Markdown shows as it is, in a table too."""
    plain = _ENTITY.sub("&amp;", " ".join(text.split()))
    if _TAG.search(plain) or plain.startswith(">"):
        plain = plain.replace("<", "&lt;").replace(">", "&gt;")
    return _MARKDOWN.sub(r"\\\1", plain)


def latex(text: str) -> str:
    """Return text that LaTeX sets as it is."""
    return " ".join(text.split()).translate(_TABLE)
