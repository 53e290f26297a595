#!/bin/bash
#SBATCH --array=1-4
#SBATCH --cpus-per-task=4
# sbatch slurm.sh: models.txt, cut by expected time over the tasks of the array; then join.sh makes one bank of theirs.
# A task that has died is done again with the number of all parts: PARTS=4 sbatch --array=3 slurm.sh.
set -euo pipefail
: "${SHARED:=$PWD}" "${SOC:=Ascend910B2}" "${PARTS:=$SLURM_ARRAY_TASK_COUNT}"
export TUNE_BANK_PATH=$SHARED/parts/$SLURM_ARRAY_TASK_ID
mkdir -p "$TUNE_BANK_PATH/results"
# shellcheck disable=SC2086  # Options are words.
aoe --model_path="$SHARED/models.txt" --soc_version="$SOC" --work_path="$TUNE_BANK_PATH/results" \
    --shard="$SLURM_ARRAY_TASK_ID/$PARTS" --tuned_model=off ${AOE_OPTIONS:-}
