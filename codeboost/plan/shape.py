"""A quick answer to "does this value fit that schema": yes, or "ask the real validator".

jsonschema takes longer to import than all of a plan's reading and checking. Good plans are the rule, and for them this
small reader of the keywords that our schemas use is enough. It never explains, and it never says yes to a keyword that
it does not know; a property test holds it to the same verdict as jsonschema.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

__all__ = ["surely_fits"]

Schema = Mapping[str, Any]


def surely_fits(value: object, schema: Schema, root: Schema) -> bool:
    """Whether ``value`` fits ``schema`` for certain; ``root`` is the document that ``$ref`` points into.

    Values are those of our readers: a number that is whole is an int. The depth is that of the schema.
    """
    return all(
        keyword in _RULES and _RULES[keyword](value, limit, schema, root) for keyword, limit in schema.items()
    )


def _fits_type(value: object, limit: Any, _schema: Schema, _root: Schema) -> bool:
    return any(_TYPES[kind](value) for kind in ([limit] if isinstance(limit, str) else limit))


def _fits_ref(value: object, limit: str, _schema: Schema, root: Schema) -> bool:
    if not limit.startswith("#/$defs/"):
        return False
    definition = root["$defs"].get(limit.removeprefix("#/$defs/"))
    return definition is not None and surely_fits(value, definition, root)


def _fits_properties(value: object, limit: Mapping[str, Schema], _schema: Schema, root: Schema) -> bool:
    if not isinstance(value, dict):
        return True
    return all(surely_fits(value[name], part, root) for name, part in limit.items() if name in value)


def _fits_pattern(value: object, limit: str, _schema: Schema, _root: Schema) -> bool:
    return not isinstance(value, str) or _compile(limit).find(value) is not None


@cache
def _compile(pattern: str) -> Any:
    import regress  # noqa: PLC0415 - ECMA-262, as in schema.py

    return regress.Regex(pattern)


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


_TYPES: dict[str, Callable[[object], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "integer": _is_integer,
    "null": lambda value: value is None,
}
_RULES: dict[str, Callable[[Any, Any, Schema, Schema], bool]] = {
    **dict.fromkeys(("$id", "$defs", "title", "description"), lambda *_: True),
    "$ref": _fits_ref,
    "type": _fits_type,
    # True equals 1 in Python and not in JSON; a quick yes needs a plain string or integer.
    "enum": lambda value, limit, *_: (isinstance(value, str) or _is_integer(value)) and value in limit,
    "minimum": lambda value, limit, *_: not isinstance(value, (int, float)) or value >= limit,
    "minLength": lambda value, limit, *_: not isinstance(value, str) or len(value) >= limit,
    "maxLength": lambda value, limit, *_: not isinstance(value, str) or len(value) <= limit,
    "minItems": lambda value, limit, *_: not isinstance(value, list) or len(value) >= limit,
    "maxItems": lambda value, limit, *_: not isinstance(value, list) or len(value) <= limit,
    "pattern": _fits_pattern,
    "properties": _fits_properties,
    "required": lambda value, limit, *_: not isinstance(value, dict) or value.keys() >= set(limit),
    "additionalProperties": lambda value, limit, schema, _: (
        limit is False and (not isinstance(value, dict) or value.keys() <= schema["properties"].keys())
    ),
    "items": lambda value, limit, _, root: (
        not isinstance(value, list) or all(surely_fits(entry, limit, root) for entry in value)
    ),
}
