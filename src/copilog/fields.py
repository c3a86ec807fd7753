"""Take fields out of a decoded JSON object, by type, and read the timestamps that the formats use."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from copilog import jsonio

# Take fields out of a decoded object, by type. The converters own the objects of the decoder: a field that is
# understood is taken out, and the rest at the end becomes `extra`. So nothing is lost, and a field of an unexpected
# type stays visible. A decoder makes no subclasses of these types, so they are compared directly: this is where most
# of the time is spent.


Json = dict[str, Any]


def take_str(obj: Json, key: str) -> str | None:
    value = obj.get(key)
    if type(value) is str:
        del obj[key]
        return value
    return None


def take_bool(obj: Json, key: str) -> bool | None:
    value = obj.get(key)
    if value is True or value is False:
        del obj[key]
        return bool(value)
    return None


def take_int(obj: Json, key: str) -> int | None:
    value = obj.get(key)
    if type(value) is int:
        del obj[key]
        return value
    return None


def take_number(obj: Json, key: str) -> float | None:
    value = obj.get(key)
    if type(value) is int or type(value) is float:
        del obj[key]
        return value
    return None


def take_dict(obj: Json, key: str) -> Json | None:
    value = obj.get(key)
    if type(value) is dict:
        del obj[key]
        return value
    return None


def take_list(obj: Json, key: str) -> list[Any] | None:
    value = obj.get(key)
    if type(value) is list:
        del obj[key]
        return value
    return None


def take_strings(obj: Json, key: str) -> list[str]:
    """Take a list of strings; a list with any other item stays."""
    value = obj.get(key)
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        del obj[key]
        return value
    return []


def put_back(obj: Json, key: str, left: Json | list[Any]) -> None:
    """Put back the rest of a value that was taken, so that it is not lost; an empty value is left out."""
    if left:
        obj[key] = left


def take_time(obj: Json, key: str) -> datetime | None:
    """Take a time in milliseconds since 1970; any other value stays."""
    moment = time_from_ms(obj.get(key))
    if moment is not None:
        del obj[key]
    return moment


def take_markdown(obj: Json, key: str) -> str | None:
    """Take the text of a markdown value: a string, or an object with `value`, whose other fields stay."""
    value = obj.get(key)
    if isinstance(value, str):
        del obj[key]
        return value
    if isinstance(value, dict) and isinstance(value.get("value"), str):
        text: str = value.pop("value")
        if not value:
            del obj[key]
        return text
    return None


def take_notes(obj: Json, names: dict[str, str]) -> dict[str, str]:
    """Take the texts under some keys, by their labels."""
    return {name: text for key, name in names.items() if key in obj and (text := take_markdown(obj, key))}


def texts_at(value: object, *keys: str) -> str:
    """Return the texts under some keys of an object, or of each object of a list, one per line and each once."""
    items = value if isinstance(value, list) else [value]
    texts = [markdown_text(item.get(key)) for item in items if isinstance(item, dict) for key in keys]
    return "\n".join(dict.fromkeys(text for text in texts if text))


def strings_at(obj: Json, key: str) -> str:
    """Return all strings below a key, one per line and each once."""
    return "\n".join(dict.fromkeys(text for text in _strings_in(obj.get(key)) if text))


def _strings_in(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _strings_in(item)


def markdown_text(value: object) -> str | None:
    """Return the text of a markdown value, which stays unchanged."""
    text = value.get("value") if type(value) is dict else value
    return text if type(text) is str else None


def time_from_ms(value: object) -> datetime | None:
    """Return the time of milliseconds since 1970, or None if it is impossible."""
    if (type(value) is int or type(value) is float) and 0 < value < 253402300800000:
        return datetime.fromtimestamp(value / 1000, UTC)
    return None


def text_from(value: object) -> str | None:
    """Return a value as readable text: text unchanged, anything else as JSON; None for nothing."""
    if value is None:
        return None
    text = markdown_text(value)
    return json_text(value) if text is None else text


def is_same_json(text: str, other: str | None) -> bool:
    """Return whether two texts are equal, or JSON of the same value in another layout."""
    if text == other or other is None:
        return text == other
    try:
        return bool(jsonio.decode_strictly(text) == jsonio.decode_strictly(other))
    except (ValueError, RecursionError):
        return False


def json_text(value: object) -> str | None:
    """Return a value as JSON text, or None if it is nested too deeply to be written."""
    try:
        return jsonio.encode(value)
    except RecursionError:
        return None


def rest(obj: Json) -> Json | None:
    """Return the rest of an object after everything understood was taken, or None if it is empty."""
    return obj or None


# Times in the spellings that Copilot's stores use.


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST_NANOSECOND = 253_402_300_799 * 10**9


def timestamp_from(value: object) -> datetime | None:
    """Return the time of ISO 8601 text, of SQLite's own text, which is UTC without a zone, or of milliseconds."""
    if not isinstance(value, str):
        return time_from_ms(value)
    try:
        moment = datetime.fromisoformat(value)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def take_timestamp(obj: Json, key: str) -> datetime | None:
    """Take a time; a value that is not a time stays."""
    moment = timestamp_from(obj.get(key))
    if moment is not None:
        del obj[key]
    return moment


def timestamp_from_nanoseconds(value: object) -> datetime | None:
    """Return the time of nanoseconds since 1970, as a number or as text."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 25:
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value < _LAST_NANOSECOND:
        return None
    return EPOCH + timedelta(microseconds=value // 1000)


def timestamp_from_pair(value: object) -> datetime | None:
    """Return the time of a pair of seconds and nanoseconds."""
    if not isinstance(value, list) or len(value) != 2:
        return None
    seconds, nanoseconds = value
    if type(seconds) is not int or type(nanoseconds) is not int:
        return None
    return timestamp_from_nanoseconds(seconds * 10**9 + nanoseconds)


def ms_between(start: datetime | None, end: datetime | None) -> float | None:
    """Return the milliseconds from one time to another; None if one is missing or they run backwards."""
    if start is None or end is None or end < start:
        return None
    return (end - start) / timedelta(milliseconds=1)
