"""coverage.py ROOT MISSED LCOV...: how many lines of each part of the library were reached, of those that have code; the places of
the others go to MISSED. A line is reached where one of LCOV says so. Exit status 1 where a part has fewer than are asked.

coverage.py --programs BUILT: the programs of tests in what `cargo test --message-format=json` said, and the folders of their
packages, by a tab."""

import itertools
import json
import os
import sys

#: Name, places below ROOT, percentage asked.
PARTS = [
    ("banks", ["src/bank/"], 95),
    ("C interface", ["src/capi/"], 95),
    ("legality", ["crates/simulator/src/*legality.rs"], 95),
    ("tilings", ["crates/simulator/src/tiling/"], None),
    ("spaces", ["crates/simulator/src/space/"], None),
    ("search", ["crates/search/src/"], None),
    ("tuning", ["src/tune/"], None),
    ("all", [""], None),
]


def counts_of(lcovs, root):
    """The counts of lines, of each file below ROOT."""
    files, lines = {}, {}
    for entry in itertools.chain.from_iterable(map(open, lcovs)):
        if entry.startswith("SF:"):
            name = entry[3:].strip()
            lines = files.setdefault(name[len(root):], {}) if name.startswith(root) else {}
        elif entry.startswith("DA:"):
            number, count = (int(part) for part in entry[3:].split(",")[:2])
            lines[number] = max(count, lines.get(number, 0))
    return files


def without_tests(files, root):
    """Files without the modules of tests that stand at their ends."""
    kept = {}
    for name, lines in files.items():
        source = open(root + name).read().split("\n")
        end = len(source) + 1
        for number, line in enumerate(source, 1):
            if line == "#[cfg(test)]" and source[number].startswith("mod ") and source[number].endswith("{"):
                end = number
                break
        kept[name] = {number: count for number, count in lines.items() if number < end}
    return kept


def is_in(name, place):
    first, star, last = place.partition("*")
    return name.startswith(first) and name.endswith(last) if star else name.startswith(place)


def programs(built):
    """Each program of tests with the folder that cargo would start it in."""
    found = set()
    for line in open(built):
        said = json.loads(line)
        if said.get("executable") and said["profile"]["test"]:
            found.add(f"{said['executable']}\t{os.path.dirname(said['manifest_path'])}")
    return sorted(found)


def main():
    if sys.argv[1] == "--programs":
        print("\n".join(programs(sys.argv[2])))
        return
    root, missed, *lcovs = sys.argv[1:]
    files = without_tests(counts_of(lcovs, root), root)
    short = []
    for part, places, asked in PARTS:
        inside = [lines for name, lines in files.items() if any(is_in(name, place) for place in places)]
        total = sum(len(lines) for lines in inside)
        reached = sum(count > 0 for lines in inside for count in lines.values())
        if total == 0:
            sys.exit(f"error: no line of `{part}` was counted")
        print(f"{part:12} {reached:6} of {total:6} lines, {100 * reached / total:.1f} %")
        if asked and 100 * reached < asked * total:
            short.append(part)
    with open(missed, "w") as out:
        for name, lines in sorted(files.items()):
            out.writelines(f"{name}:{number}\n" for number, count in sorted(lines.items()) if count == 0)
    sys.exit(1 if short else 0)


main()
