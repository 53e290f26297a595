#!/bin/bash
# join.sh: merges the banks of all parts, one for each task, into $SHARED/bank, which TUNE_BANK_PATH names from then on. What a
# device has to decide about comes to lie in $SHARED/bank/aoe_bank_to_measure.
set -euo pipefail
: "${SHARED:=$PWD}"
cd "$SHARED/parts"
mkdir -p "$SHARED/bank"
for folder in . $(find . -mindepth 2 -name unified_bank -printf '%P\n' | cut -d / -f 2- | sort -u); do
    sources=()
    for part in *; do
        # Subgraph banks lie in the bank itself, operators' in a folder for each part of hardware.
        ! ls "$part/$folder"/*.json >/dev/null 2>&1 || sources+=("$part/$folder")
    done
    [ ${#sources[@]} = 0 ] || aoe bank merge "${sources[@]}" --into "$SHARED/bank/${folder#results/}"
done
