"""The text of files in any encoding."""

from __future__ import annotations

import codecs
import re

# Encodings of plain text that have ASCII in them; Python knows stranger ones.
_ENCODING_OF_TEXT = re.compile(
    r"(us-?)?ascii|iso-?8859-?\d+|latin-?\d+|(windows-?|cp)125\d|koi8-[ru]|gb(2312|k|18030)|big5|shift_jis|euc-(jp|kr)"
)


def decode(data: bytes, declared: str = "") -> str:
    """Returns the text of a file, which is in UTF-8, mostly.

    Args:
        data: what is in the file. A byte-order mark identifies UTF-16.
        declared: the encoding that the file names; it counts where the file is not in UTF-8. If it does not fit,
            either, the file is taken for Latin-1, in which every byte is a character.
    """
    encodings = ["utf-8-sig"]
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encodings.insert(0, "utf-16")
    if _ENCODING_OF_TEXT.fullmatch(declared.lower()):
        encodings.append(declared)
    for encoding in encodings:
        try:
            return data.decode(encoding)
        except (UnicodeDecodeError, LookupError):
            pass
    return data.decode("latin-1")
