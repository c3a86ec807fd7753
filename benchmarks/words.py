"""Made-up words, prose, code, paths, ids and sizes, all from one random generator."""

from __future__ import annotations

import base64
import math
import random
from typing import Any

Json = dict[str, Any]

POOL_SIZE = 1500
SPREAD = 1.2  # of the logarithm of a size: the middle size is then half of the mean
LARGEST = 10  # times the mean
SYLLABLES = (
    "ba",
    "ce",
    "di",
    "fo",
    "gu",
    "la",
    "me",
    "ni",
    "po",
    "ru",
    "sa",
    "te",
    "vi",
    "zo",
    "ka",
    "len",
    "mor",
    "tis",
)
SUFFIXES = (".py", ".ts", ".md", ".java", ".css", ".json")
FOLDERS = ("src", "lib", "tests", "web", "app", "docs", "server", "core")
# A few words that are more than ASCII: strings with such characters take another way through every decoder.
FOREIGN = ("größer", "été", "naïve", "señal", "猫が好き", "данные", "✅", "→", "🚀")


class Words:
    """A vocabulary and what can be written with it."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.words = ["".join(rng.choices(SYLLABLES, k=rng.randint(1, 3))) for _ in range(POOL_SIZE)]
        self._sentences = [self._new_sentence() for _ in range(POOL_SIZE)]
        self._lines = [self._new_line() for _ in range(POOL_SIZE)]
        self._paths = [self._new_path() for _ in range(POOL_SIZE // 4)]
        self._line_size = _mean_size(self._lines)
        self._sentence_size = _mean_size(self._sentences)

    def word(self) -> str:
        return self.rng.choice(self.words)

    def sentence(self) -> str:
        return self.rng.choice(self._sentences)

    def prose(self, least: int, most: int) -> str:
        """Some sentences, now and then in several paragraphs or as a list."""
        count = self.rng.randint(least, most)
        glue = self.rng.choice((" ", " ", "\n\n", "\n- "))
        return glue.join(self.rng.choices(self._sentences, k=count))

    def line(self) -> str:
        """A line of code."""
        return self.rng.choice(self._lines)

    def code(self, lines: int) -> str:
        return "\n".join(self.rng.choices(self._lines, k=lines)) + "\n"

    def size(self, mean: float, spread: float = SPREAD) -> int:
        """How large something is: many are far below the mean, a few far above it, as in real files (log-normal)."""
        drawn = self.rng.lognormvariate(math.log(mean) - spread**2 / 2, spread)
        return max(1, round(min(drawn, LARGEST * mean)))

    def prose_of(self, size: int) -> str:
        """Prose of about so many bytes, one sentence at least."""
        count = max(1, round(size / self._sentence_size))
        return self.prose(count, count)

    def code_of(self, size: int) -> str:
        """Code of about so many bytes, one line at least."""
        return self.code(self.lines_of(size))

    def lines_of(self, size: int) -> int:
        """How many lines of code have about so many bytes."""
        return max(1, round(size / self._line_size))

    def opaque(self, size: int) -> str:
        """What only a server can read."""
        return base64.b64encode(self.rng.randbytes(size * 3 // 4)).decode()

    def path(self) -> str:
        """A file below the folder of some project."""
        return self.rng.choice(self._paths)

    def uuid(self) -> str:
        digits = f"{self.rng.getrandbits(128):032x}"
        return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def _new_sentence(self) -> str:
        words = self.rng.choices(self.words, k=self.rng.randint(5, 20))
        if self.rng.random() < 0.04:
            words.append(self.rng.choice(FOREIGN))
        if self.rng.random() < 0.2:
            words.append(f"`{self.rng.choice(self.words)}()`")
        return " ".join(words).capitalize() + "."

    def _new_line(self) -> str:
        one, two, three = self.rng.choices(self.words, k=3)
        indent = "    " * self.rng.randint(0, 3)
        shape = self.rng.randrange(6)
        if shape == 0:
            return ""
        if shape == 1:
            return f'{indent}{one} = "{two} {three}"'
        if shape == 2:
            return f"{indent}if {one} != {two}:\t# {three} {one} of the {two}"
        if shape == 3:
            return f"{indent}return {one}({two}, {self.rng.randrange(1000)}).{three}({one}={two}, {three}=None)"
        if shape == 4:
            return f"{indent}def {one}_{two}({three}: str, {two}: int = 0) -> None:"
        return f'{indent}{one}.{two}["{three}"] = {{"{two}": [{self.rng.randrange(100)}]}}'

    def _new_path(self) -> str:
        folders = "/".join(self.rng.choices(FOLDERS, k=self.rng.randint(1, 3)))
        return f"{folders}/{self.rng.choice(self.words)}_{self.rng.choice(self.words)}{self.rng.choice(SUFFIXES)}"


def _mean_size(texts: list[str]) -> float:
    """What a text of a pool takes up on average, with what divides it from the next."""
    return sum(len(text.encode()) + 1 for text in texts) / len(texts)


def uri(path: str, *, with_caches: bool = True) -> Json:
    """A URI as VS Code stores it; most come with what it had computed before."""
    if not with_caches:
        return {"$mid": 1, "path": path, "scheme": "file"}
    return {"$mid": 1, "fsPath": path, "external": f"file://{path}", "path": path, "scheme": "file"}


def text_range(first: int, last: int, column: int = 1) -> Json:
    """A range of lines as VS Code stores it."""
    return {"startLineNumber": first, "startColumn": 1, "endLineNumber": last, "endColumn": column}
