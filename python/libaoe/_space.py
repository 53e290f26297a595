"""The space of a search as the library reads it, from the form of docs/spaces.md or from lists of values by name."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence

from ._errors import invalid

_EITHER = "write {'tile': [8, 16]}, or the form of docs/spaces.md"


def form_of(space: Mapping[str, Any], constraints: Optional[Sequence[str]]) -> Dict[str, Any]:
    """A space in the form of docs/spaces.md. Here is told what cannot be made one; what is wrong with values and constraints
    the library tells."""
    if not isinstance(space, Mapping):
        raise invalid(f"space: {_kind(space)} is no mapping: {_EITHER}")
    form = dict(space)
    if isinstance(form.get("parameters"), (list, tuple)):
        form["parameters"] = [_parameter(f"space: parameters[{place}]", one) for place, one in enumerate(form["parameters"])]
    elif "constraints" in form:
        raise invalid(f"space: `constraints` stands among lists of values: give constraints=[..] beside the space; or {_EITHER}")
    else:
        form = {"parameters": [_named("space", name, values) for name, values in form.items()]}
    if constraints is not None:
        given = [form.get("constraints", []), constraints]
        form["constraints"] = [one for some in given for one in _constraints(some)]
    return form


def _parameter(place: str, given: Any) -> Dict[str, Any]:
    if not isinstance(given, Mapping) or not {"name", "values"} <= given.keys():
        raise invalid(f"{place}: {_kind(given)} lacks a name or values: write {{'name': 'tile', 'values': [8, 16]}}")
    return {**given, **_named(place, given["name"], given["values"])}


def _named(place: str, name: Any, values: Any) -> Dict[str, Any]:
    if not isinstance(name, str):
        raise invalid(f"{place}: the name {_kind(name)} is no text: {_EITHER}")
    return {"name": name, "values": _list(f"{place}: `{name}`: its values", values, "[8, 16, 32]")}


def _constraints(given: Any) -> List[str]:
    found = _list("constraints", given, "['tile % 16 == 0']")
    for one in found:
        if not isinstance(one, str):
            raise invalid(f"constraints: {_kind(one)} is no text: give ['tile % 16 == 0']")
    return found


def _list(place: str, values: Any, example: str) -> List[Any]:
    """A list. The letters of a text and the keys of a mapping are none."""
    if isinstance(values, (str, bytes, Mapping)) or not hasattr(values, "__iter__"):
        raise invalid(f"{place}: {_kind(values)} is no list: give one, as {example}")
    return list(values)


def _kind(value: Any) -> str:
    text = repr(value)
    return f"{type(value).__name__} {text if len(text) <= 60 else text[:57] + '...'}"
