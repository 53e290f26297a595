"""The installed tree inside the wheel serves C programs as an installed prefix does."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import libaoe

PROGRAM = '#include <aoe.h>\n#include <stdio.h>\nint main(void) { printf("%u\\n", AoeGetVersion()); return AoeGetVersion() >= AOE_VERSION ? 0 : 1; }\n'


def output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def test_the_module_says_where_it_is_and_runs_the_program() -> None:
    assert output(sys.executable, "-m", "libaoe", "prefix") == str(libaoe.prefix())
    assert output(sys.executable, "-m", "libaoe", "--version") == f"aoe {libaoe.version()}"


@pytest.mark.skipif(shutil.which("cc") is None or shutil.which("pkg-config") is None, reason="cc or pkg-config is not installed")
def test_a_c_program_is_linked_with_it_by_pkg_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "program.c").write_text(PROGRAM)
    monkeypatch.setenv("PKG_CONFIG_PATH", str(libaoe.prefix() / "lib" / "pkgconfig"))
    flags = shlex.split(output("pkg-config", "--cflags", "--libs", "aoe"))
    output("cc", "program.c", *flags, f"-Wl,-rpath,{libaoe.prefix() / 'lib'}", "-o", "program")
    assert int(output("./program")) >> 16 == int(libaoe.version().split(".")[0])


@pytest.mark.skipif(shutil.which("cmake") is None, reason="cmake is not installed")
def test_cmake_finds_the_package_in_it(tmp_path: Path) -> None:
    (tmp_path / "program.c").write_text(PROGRAM)
    lines = ["cmake_minimum_required(VERSION 3.22)", "project(user C)", "find_package(aoe 0.1 REQUIRED)"]
    lines += ["add_executable(program program.c)", "target_link_libraries(program PRIVATE aoe::aoe)"]
    (tmp_path / "CMakeLists.txt").write_text("\n".join(lines))
    output("cmake", "-S", ".", "-B", "build", f"-DCMAKE_PREFIX_PATH={libaoe.prefix()}")
    output("cmake", "--build", "build")
    output("build/program")
