"""The shape of a plan (plan-rules.md §2): which version, and does it fit that version's schema.

The home of jsonschema. Nothing here opens a file by a name that came from input, and nothing opens a
socket: the schemas ship with the program, and the registry that resolves ``$ref`` knows no way to fetch.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from codeboost.diagnostics import Diagnostic, Severity
from codeboost.parsing.nodes import join_pointer
from codeboost.plan.shape import surely_fits
from codeboost.resources import read_resource
from codeboost.visible import cut

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import ValidationError

__all__ = ["ShapeFault", "check_shape", "list_versions", "load_schema", "make_validator", "read_schema"]

# Each unknown key is reported where it stands, up to these in one object; then one line says how many more.
# More than the largest plan has fields; a MiB of rubbish has a hundred times as many.
_MOST_FAULTS = 10_000
_MOST_UNKNOWN = 20
_ITEM_ID = re.compile(r"P[1-9][0-9]{0,2}")


class ShapeFault(NamedTuple):
    """A diagnostic without its position, and whether that is the place of a key rather than of a value."""

    diagnostic: Diagnostic
    at_key: bool = False


@cache
def list_versions() -> Mapping[int, str]:
    """The versions of the plan format this program knows, each with the resource that holds its schema."""
    registry = json.loads(read_resource("schema/versions.json"))
    return {int(version): f"schema/{name}" for version, name in registry.items()}


def read_schema(version: int) -> bytes:
    """The schema of a known version as it ships, byte for byte; KeyError for another one."""
    return read_resource(list_versions()[version])


@cache
def load_schema(version: int) -> Mapping[str, Any]:
    schema: Mapping[str, Any] = json.loads(read_schema(version))
    return schema


def check_shape(value: object) -> list[ShapeFault]:
    """Everything that keeps ``value`` from being a plan: one ``version`` error, or all ``schema`` errors."""
    if not isinstance(value, dict) or not value:
        return [_refuse_document(value)]
    version = value.get("schema_version")
    known = list_versions()
    if isinstance(version, bool) or not isinstance(version, int) or version not in known:
        return [_refuse_version(value)]
    schema = load_schema(version)
    if surely_fits(value, schema, schema):
        return []
    found = (
        fault for error in make_validator(version).iter_errors(value) for fault in _explain(error, value)
    )
    faults = list(islice(found, _MOST_FAULTS))
    if next(found, None) is not None:
        message = f"the plan has more than {_MOST_FAULTS:,} faults; the others are not listed"
        faults.append(ShapeFault(Diagnostic("schema", Severity.ERROR, message)))
    return sorted(faults, key=lambda fault: fault.diagnostic.pointer)


def _refuse_document(value: object) -> ShapeFault:
    keys = ", ".join(load_schema(max(list_versions()))["required"])
    if isinstance(value, dict):
        message, keyword = f"the plan is empty; it must have {keys}", "required"
    else:
        message, keyword = f"the plan is {_name_type(value)}; it must be an object with {keys}", "type"
    return ShapeFault(Diagnostic("schema", Severity.ERROR, message, keyword=keyword))


def _refuse_version(plan: dict[str, object]) -> ShapeFault:
    known = " or ".join(map(str, sorted(list_versions())))
    if "schema_version" not in plan:
        message = f"schema_version is missing; this program reads version {known}"
        return ShapeFault(Diagnostic("version", Severity.ERROR, message))
    version = plan["schema_version"]
    shown = _show(version) if _is_number(version) else _name_value(version)
    message = f"schema_version is {shown}; this program reads version {known}"
    hint = (
        "write it without quotes"
        if isinstance(version, str) and version in map(str, list_versions())
        else None
    )
    return ShapeFault(Diagnostic("version", Severity.ERROR, message, pointer="/schema_version", hint=hint))


@cache
def make_validator(version: int) -> Draft202012Validator:
    """A draft 2020-12 validator, chosen here and not by the schema (which names no dialect on purpose)."""
    import regress  # noqa: PLC0415 - both are slow to import, and only checking a plan needs them
    from jsonschema import Draft202012Validator  # noqa: PLC0415
    from jsonschema.exceptions import ValidationError  # noqa: PLC0415
    from jsonschema.validators import extend  # noqa: PLC0415
    from referencing import Registry  # noqa: PLC0415

    compile_pattern = cache(regress.Regex)

    def check_pattern(
        _validator: object, pattern: str, instance: object, _schema: object
    ) -> Iterator[ValidationError]:
        # ECMA-262, where $ matches only at the very end: Python's re accepts "P1\n" for an id.
        if isinstance(instance, str) and compile_pattern(pattern).find(instance) is None:
            yield ValidationError("")

    make = extend(Draft202012Validator, {"pattern": check_pattern})  # type: ignore[no-untyped-call]
    validator: Draft202012Validator = make(load_schema(version), registry=Registry())
    return validator


# From jsonschema's errors to sentences


def _explain(error: ValidationError, plan: dict[str, object]) -> Iterator[ShapeFault]:
    path = list(error.absolute_path)
    item = _find_item(plan, path)
    keyword = str(error.validator)
    if keyword == "additionalProperties":
        yield from _explain_unknown(error, path, item)
        return
    name = _name_place(path)
    instance: Any = error.instance
    limit: Any = error.validator_value
    pointer = join_pointer(*path)
    if keyword == "required":
        # jsonschema says which one only in prose; it yields one error for each, in the order of the schema.
        missing = _find_missing(error)
        message = f"{name} has no {missing}; it must have {', '.join(limit)}"
    else:
        message = _describe(keyword, name, instance, limit)
    yield ShapeFault(
        Diagnostic("schema", Severity.ERROR, message, item=item, pointer=pointer, keyword=keyword)
    )


def _find_missing(error: ValidationError) -> str:
    names: Any = error.validator_value
    return next(str(name) for name in names if error.message.startswith(repr(name)))


def _explain_unknown(error: ValidationError, path: list[str | int], item: str | None) -> Iterator[ShapeFault]:
    from difflib import get_close_matches  # noqa: PLC0415 - only a wrong plan needs it

    schema: Any = error.schema
    instance: Any = error.instance
    allowed = list(schema["properties"])
    unknown = [key for key in instance if key not in allowed]
    missing = [key for key in allowed if key not in instance]
    name = _name_place(path)
    for key in unknown[:_MOST_UNKNOWN]:
        close = get_close_matches(key, missing, n=1) if len(key) <= 40 else []
        hint = f"did you mean {close[0]}?" if close else None
        message = f"{name} has an unknown key '{cut(key, 60)}'; allowed are {', '.join(allowed)}"
        pointer = join_pointer(*path, key)
        yield ShapeFault(
            Diagnostic(
                "schema", Severity.ERROR, message, item, pointer, keyword="additionalProperties", hint=hint
            ),
            at_key=True,
        )
    if len(unknown) > _MOST_UNKNOWN:
        more = len(unknown) - _MOST_UNKNOWN
        message = f"{name} has {more} more unknown {'key' if more == 1 else 'keys'}"
        yield ShapeFault(
            Diagnostic(
                "schema", Severity.ERROR, message, item, join_pointer(*path), keyword="additionalProperties"
            )
        )


def _describe(keyword: str, name: str, instance: Any, limit: Any) -> str:
    match keyword:
        case "type":
            wanted = _join([_TYPES[kind] for kind in ([limit] if isinstance(limit, str) else limit)])
            found, rule = _name_value(instance), f"it must be {wanted}"
        case "enum":
            found, rule = _show(instance), f"it must be {_join([_show(value) for value in limit])}"
        case "minimum":
            found, rule = _show(instance), f"it must be at least {limit}"
        case "minLength" | "minItems" if not instance:
            found, rule = "empty", "it must not be"
        case "minLength" | "maxLength":
            bound = "at least" if keyword == "minLength" else "at most"
            found, rule = f"{len(instance)} characters long", f"{bound} {limit} are allowed"
        case "minItems" | "maxItems":
            bound = "at least" if keyword == "minItems" else "at most"
            found, rule = f"{len(instance)} entries long", f"{bound} {limit} are allowed"
        case "pattern":
            found, rule = (
                _show(instance),
                f"it must be {_PATTERNS.get(limit, f'a text that matches {limit}')}",
            )
        case _:
            found, rule = _show(instance), f"the rule {keyword} of the schema forbids that"
    return f"{name} is {found}; {rule}"


def _join(words: list[str]) -> str:
    """``a``, ``a or b``, ``a, b or c``."""
    return " or ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


_PATTERNS = {
    "^P[1-9][0-9]{0,2}$": "P and a number from 1 to 999, such as P1",
    r"^[^/\\][^\\]*$": "a path from the repository root with forward slashes, such as src/main.py",
}
_TYPES = {
    "object": "an object",
    "array": "a list",
    "string": "a string",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
}


def _name_type(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list():
            return "a list"
        case _:
            return "an object"


def _name_value(value: object) -> str:
    """``a string, "1"``; null says both by itself."""
    return "null" if value is None else f"{_name_type(value)}, {_show(value)}"


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _show(value: object) -> str:
    """A value as JSON spells it, escaped and cut: a long one must not fill the screen."""
    if isinstance(value, str):
        return f'"{cut(value, 60)}"'
    if isinstance(value, list):
        return f"{len(value)} {'entry' if len(value) == 1 else 'entries'}" if value else "[]"
    if isinstance(value, dict):
        return f"{len(value)} {'key' if len(value) == 1 else 'keys'}" if value else "{}"
    return json.dumps(value)


def _name_place(path: list[str | int]) -> str:
    """``summary``, ``items[2].files[0].path``; the plan itself is ``the plan``."""
    name = ""
    for token in path:
        name += f"[{token}]" if isinstance(token, int) else f".{token}" if name else token
    return name or "the plan"


def _find_item(plan: dict[str, object], path: list[str | int]) -> str | None:
    items = plan.get("items")
    if len(path) < 2 or path[0] != "items" or not isinstance(items, list):
        return None
    item = items[int(path[1])]
    name = item.get("id") if isinstance(item, dict) else None
    return name if isinstance(name, str) and _ITEM_ID.fullmatch(name) else None
