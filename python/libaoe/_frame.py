"""Results as tables, where pandas is installed."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Iterable, Mapping, Union

if TYPE_CHECKING:
    import pandas


def frame_of(rows: Iterable[Union[Mapping[str, Any], Any]]) -> "pandas.DataFrame":
    """A table with a row for each mapping or dataclass."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError("frames need pandas: pip install 'libaoe[pandas]'") from error
    return pandas.DataFrame([row if isinstance(row, Mapping) else _fields(row) for row in rows])


def _fields(row: Any) -> Mapping[str, Any]:
    # Not dataclasses.asdict, which would copy the mappings inside.
    return {field.name: getattr(row, field.name) for field in dataclasses.fields(row) if field.repr}
