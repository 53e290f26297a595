"""Puts an installed prefix (bin, include, lib), manual and completions into the wheel and names the platform; scripts/wheel sets the
variables."""

import os
from typing import Any, Dict

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PrefixHook(BuildHookInterface[Any]):
    """LIBAOE_WHEEL_PREFIX: the prefix; LIBAOE_WHEEL_SHARE: what goes to share/ of the environment; LIBAOE_WHEEL_PLATFORM: the tag."""

    def initialize(self, version: str, build_data: Dict[str, Any]) -> None:
        if version == "editable":
            return
        prefix, platform = os.environ.get("LIBAOE_WHEEL_PREFIX"), os.environ.get("LIBAOE_WHEEL_PLATFORM")
        if not prefix or not platform:
            raise RuntimeError("a wheel holds what was built: make wheel")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform}"
        build_data["force_include"][prefix] = "libaoe/prefix"
        share = os.environ.get("LIBAOE_WHEEL_SHARE")
        if share:
            build_data["shared_data"][share] = "share"
