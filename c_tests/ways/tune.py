"""tune.py MODEL [NAME=VALUE...]: as tune.c, through the Python package."""

import json
import os
import sys

import libaoe

options = dict(option.split("=", 1) for option in sys.argv[2:])
own = {"soc": options.pop("soc_version"), "jobs": options.pop("job_type"), "output": options.pop("output")}
tuning = libaoe.tune(sys.argv[1], bank=os.environ["TUNE_BANK_PATH"], progress=False, **own, **options)
print(json.dumps(tuning.report))
