"""same.py FOLDER FOLDER: are what two tunings left the same? Prints each difference; exit status 1 where there is one.

Every file is compared but logs, profiles and pages (`LEFT_OUT`). JSON of reports and results is compared without what tells of
the run and not of its outcome (`OF_THE_RUN`); everything else byte for byte.
"""

import json
import os
import re
import sys

#: Clock readings from end to end, pages made of reports; streams of the programs.
LEFT_OUT = re.compile(r"(^|/)(profiling/|report\.html$|ways\.so$|log$|said$)")
#: Their contents are compared, not their bytes: they tell of durations and places.
TOLD = re.compile(r"(^|/)(report|summary|aoe_result_[a-z]+_STAMP_pid|\.aoe_banks)\.json$")
#: Durations of the search, the clock's reading in profiles' names, and options as each way to tune words them.
OF_THE_RUN = {"tuning_time(s)", "tuning_time", "profiles", "tuning_parallel_num", "ge.op_bank_path", "ge.mdl_bank_path"}


def contents(folder):
    """The files, by their names without stamps; each also with its folder's name taken out."""
    found = {}
    for place, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(place, name)
            known_as = plain(os.path.relpath(path, folder), folder)
            if LEFT_OUT.search(known_as):
                continue
            with open(path, "rb") as file:
                data = file.read()
            if TOLD.search(known_as):
                data = outcome(json.loads(plain(data.decode(), folder)))
            if known_as in found:
                sys.exit(f"error: {folder} has two of {known_as}")
            found[known_as] = data
    return found


def plain(text, folder):
    text = text.replace(os.path.abspath(folder), "FOLDER")
    text = re.sub(r"\d{8}_\d{9}", "STAMP", text)
    return re.sub(r"_pid\d+", "_pid", text)


def outcome(told):
    if isinstance(told, dict):
        return {key: outcome(value) for key, value in told.items() if key not in OF_THE_RUN}
    return [outcome(value) for value in told] if isinstance(told, list) else told


def differences(one, other, place):
    """The places where two values of JSON differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in sorted(set(one) | set(other)):
            yield from differences(one.get(key), other.get(key), f"{place}.{key}")
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for number, (left, right) in enumerate(zip(one, other)):
            yield from differences(left, right, f"{place}[{number}]")
    elif one != other or type(one) is not type(other):
        yield f"{place}: {str(one)[:60]} and {str(other)[:60]}"


def compare(one, other):
    for name in sorted(set(one) | set(other)):
        if name not in one or name not in other:
            yield f"{name}: only one of them has it"
        elif isinstance(one[name], bytes):
            if one[name] != other[name]:
                yield f"{name}: other bytes"
        else:
            yield from differences(one[name], other[name], name)


def main():
    one, other = contents(sys.argv[1]), contents(sys.argv[2])
    # Two tunings that recorded nothing would be the same, too.
    for tuning in os.listdir(sys.argv[1]):
        if not any(name.startswith(f"{tuning}/bank/") and "/.aoe/" not in name for name in one):
            sys.exit(f"error: {sys.argv[1]}/{tuning} has no record in its bank")
    found = list(compare(one, other))
    print("\n".join(found), end="\n" if found else "")
    sys.exit(1 if found else 0)


main()
