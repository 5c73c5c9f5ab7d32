"""What things may be called: names that fit into an address, and text that looks like what it is."""

from __future__ import annotations

import re
import unicodedata

from bestarm.errors import UserError

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
RULE = "1 to 64 letters A-Z or a-z, digits and . _ -, beginning with a letter or digit"

# Control characters, invisible ones and marks of direction, halves of characters, private ones, and line ends.
HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
# Letters and marks that show nothing: fillers of Hangul and Khitan, an empty Braille cell, a note head, joiners
# and variation selectors; and what is kept free to show nothing one day, or to be no character ever.
BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u2800\u3164\uffa0\ufdd0-\ufdef\ufe00-\ufe0f"
    "\ufff0-\ufff8\ufffe\uffff\U00016fe4\U0001d159\U000e0000-\U000e0fff]"
)


def check_name(field: str, value: object) -> str:
    """The name, or a sentence that says why it is none.

    >>> check_name("agent", "lab-a")
    'lab-a'
    >>> check_name("agent", "lab a")
    Traceback (most recent call last):
    bestarm.errors.UserError: agent is 'lab a'; it must be 1 to 64 letters A-Z or a-z, digits and \
. _ -, beginning with a letter or digit.
    """
    if isinstance(value, str) and NAME.fullmatch(value):
        return value
    shown = repr(value) if len(repr(value)) <= 80 else repr(value)[:77] + "..."
    raise UserError(f"{field} is {shown}; it must be {RULE}.")


def check_text(field: str, text: str) -> str:
    """Text that looks like what it is, or a sentence that names what does not show.

    >>> check_text("name of arm 1", "naïve 数据 🧪")
    'naïve 数据 🧪'
    >>> check_text("name of arm 2", "PPh3\\u200b")
    Traceback (most recent call last):
    bestarm.errors.UserError: name of arm 2 is 'PPh3\\u200b'; it has a character that can't be seen (U+200B, \
zero width space); leave it out.
    >>> check_text("name of arm 3", "cafe\\u0301")
    Traceback (most recent call last):
    bestarm.errors.UserError: name of arm 3 is 'cafe\\u0301'; it looks like 'café', which is written with \
other characters; write it so.
    """
    usual = unicodedata.normalize("NFC", text)
    if usual == text and text.isprintable() and not BLANK.search(text):
        return text  # mostly
    quoted = f"{field} is '{shown(text)[:80]}'"
    for character in text:
        if is_hidden(character):
            name = unicodedata.name(character, "a control character").lower()
            raise UserError(
                f"{quoted}; it has a character that can't be seen (U+{ord(character):04X}, {name}); "
                "leave it out."
            )
    if usual != text:
        raise UserError(
            f"{quoted}; it looks like {usual!r}, which is written with other characters; write it so."
        )
    return text


def is_hidden(character: str) -> bool:
    """Whether a character does not show, or shows others otherwise; so does a space that is not the usual one.

    >>> [is_hidden(character) for character in "a é\\u00a0\\u202e\\x1b\\ufe0f"]
    [False, False, False, True, True, True, True]
    """
    if character == " ":
        return False
    kind = unicodedata.category(character)
    return kind in HIDDEN or kind == "Zs" or BLANK.match(character) is not None


def shown(text: str) -> str:
    """Text with what can't be seen escaped, for terminals and logs.

    >>> shown("a\\x1b[31mb\\u202ec")
    'a\\\\x1b[31mb\\\\u202ec'
    """
    if text.isprintable() and not BLANK.search(text):
        return text
    return "".join(_escaped(character) if is_hidden(character) else character for character in text)


def _escaped(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
