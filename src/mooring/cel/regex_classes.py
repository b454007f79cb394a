"""Sets of characters in regular expressions.

Called by the parser and matcher of regular expressions. Categories come from Python's Unicode
database; of scripts it only has names, so a script is the characters whose name starts with it.
"""

import sys
import unicodedata
from collections.abc import Callable
from functools import cache
from typing import Final, NamedTuple

_CATEGORY_NAMES = (
    "C Cc Cf Cn Co Cs L LC Ll Lm Lo Lt Lu M Mc Me Mn N Nd Nl No P Pc Pd Pe Pf Pi Po Ps S "
    "Sc Sk Sm So Z Zl Zp Zs "
)
_CATEGORIES: Final = frozenset(_CATEGORY_NAMES.split())
_SCRIPT_NAMES = (
    "Adlam Ahom Anatolian_Hieroglyphs Arabic Armenian Avestan Balinese Bamum Bassa_Vah "
    "Batak Bengali Bhaiksuki Bopomofo Brahmi Braille Buginese Buhid Canadian_Aboriginal "
    "Carian Caucasian_Albanian Chakma Cham Cherokee Chorasmian Common Coptic Cuneiform "
    "Cypriot Cypro_Minoan Cyrillic Deseret Devanagari Dives_Akuru Dogra Duployan "
    "Egyptian_Hieroglyphs Elbasan Elymaic Ethiopic Georgian Glagolitic Gothic Grantha "
    "Greek Gujarati Gunjala_Gondi Gurmukhi Han Hangul Hanifi_Rohingya Hanunoo Hatran "
    "Hebrew Hiragana Imperial_Aramaic Inherited Inscriptional_Pahlavi "
    "Inscriptional_Parthian Javanese Kaithi Kannada Katakana Kawi Kayah_Li Kharoshthi "
    "Khitan_Small_Script Khmer Khojki Khudawadi Lao Latin Lepcha Limbu Linear_A Linear_B "
    "Lisu Lycian Lydian Mahajani Makasar Malayalam Mandaic Manichaean Marchen "
    "Masaram_Gondi Medefaidrin Meetei_Mayek Mende_Kikakui Meroitic_Cursive "
    "Meroitic_Hieroglyphs Miao Modi Mongolian Mro Multani Myanmar Nabataean Nag_Mundari "
    "Nandinagari New_Tai_Lue Newa Nko Nushu Nyiakeng_Puachue_Hmong Ogham Ol_Chiki "
    "Old_Hungarian Old_Italic Old_North_Arabian Old_Permic Old_Persian Old_Sogdian "
    "Old_South_Arabian Old_Turkic Old_Uyghur Oriya Osage Osmanya Pahawh_Hmong Palmyrene "
    "Pau_Cin_Hau Phags_Pa Phoenician Psalter_Pahlavi Rejang Runic Samaritan Saurashtra "
    "Sharada Shavian Siddham SignWriting Sinhala Sogdian Sora_Sompeng Soyombo Sundanese "
    "Syloti_Nagri Syriac Tagalog Tagbanwa Tai_Le Tai_Tham Tai_Viet Takri Tamil Tangsa "
    "Tangut Telugu Thaana Thai Tibetan Tifinagh Tirhuta Toto Ugaritic Vai Vithkuqi Wancho "
    "Warang_Citi Yezidi Yi Zanabazar_Square "
)
_SCRIPTS: Final = frozenset(_SCRIPT_NAMES.split())
_DIGITS: Final = (("0", "9"),)
_SPACES: Final = (("\t", "\n"), ("\f", "\r"), (" ", " "))
_WORDS: Final = (("0", "9"), ("A", "Z"), ("_", "_"), ("a", "z"))
Ranges = tuple[tuple[str, str], ...]
PERL: Final[dict[str, Ranges]] = {"d": _DIGITS, "s": _SPACES, "w": _WORDS}
POSIX: Final[dict[str, Ranges]] = {
    "alnum": (("0", "9"), ("A", "Z"), ("a", "z")),
    "alpha": (("A", "Z"), ("a", "z")),
    "ascii": (("\x00", "\x7f"),),
    "blank": (("\t", "\t"), (" ", " ")),
    "cntrl": (("\x00", "\x1f"), ("\x7f", "\x7f")),
    "digit": _DIGITS,
    "graph": (("!", "~"),),
    "lower": (("a", "z"),),
    "print": ((" ", "~"),),
    "punct": (("!", "/"), (":", "@"), ("[", "`"), ("{", "~")),
    "space": (("\t", "\r"), (" ", " ")),
    "upper": (("A", "Z"),),
    "word": _WORDS,
    "xdigit": (("0", "9"), ("A", "F"), ("a", "f")),
}


class CharSet(NamedTuple):
    """Characters by ranges and properties.

    Attributes:
        ranges: first and last characters.
        parts: whether a character of a property, or of none, belongs to it.
        negated: whether it is all other characters.
        fold: whether upper and lower case are the same.
    """

    ranges: Ranges
    parts: tuple[Callable[[str], bool], ...] = ()
    negated: bool = False
    fold: bool = False

    def has(self, char: str) -> bool:
        """Whether a character belongs to the set."""
        variants = fold_variants(char) if self.fold else (char,)
        found = any(
            first <= variant <= last for variant in variants for first, last in self.ranges
        ) or any(part(variant) for variant in variants for part in self.parts)
        return found is not self.negated


def negated_part(ranges: Ranges) -> Callable[[str], bool]:
    """All characters but those of some ranges, as a part of a set."""
    return lambda char: not any(first <= char <= last for first, last in ranges)


def property_part(name: str, *, negated: bool) -> Callable[[str], bool] | None:
    """The characters of a category or script, or None if there is no such property."""
    if name == "Any":
        return lambda _: not negated
    if name in _CATEGORIES:
        wanted = ("Ll", "Lt", "Lu") if name == "LC" else (name,)
        return lambda char: unicodedata.category(char).startswith(wanted) is not negated
    if name in _SCRIPTS:
        prefix = "CJK UNIFIED" if name == "Han" else name.upper().replace("_", " ")
        return lambda char: unicodedata.name(char, "").startswith(prefix) is not negated
    return None


def fold_variants(char: str) -> tuple[str, ...]:
    """The character, first, and all that differ from it in case only."""
    if char < "\u0080" and char not in "kKsS":
        return (char,) if char == char.swapcase() else (char, char.swapcase())
    return (char, *(other for other in _orbits().get(_folded(char), ()) if other != char))


def _folded(char: str) -> str:
    """What all characters become that differ in case only."""
    for text in (char.casefold(), char.lower()):
        if len(text) == 1:
            return text
    return char


@cache
def _orbits() -> dict[str, str]:
    """The characters that differ in case only, by what they become, where there are several."""
    found: dict[str, str] = {}
    for code in range(sys.maxunicode + 1):
        char = chr(code)
        folded = _folded(char)
        if folded != char:
            found[folded] = found.get(folded, folded) + char
    return found
