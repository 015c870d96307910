#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exports small models with random weights by the programs that people export theirs with, and writes what each exporter's own program
does with one picture: exports.py FOLDER [FAMILY[_CASE]...]. A family is a file from_FAMILY.py. Needs what ./dev check models installs.
No weights are downloaded: the exporters' own results are the reference, whatever the weights are."""
import importlib
import json
import pathlib
import sys

from common import Family, picture
from PIL import Image


def main(folder, wanted):
    folder = pathlib.Path(folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    photo = picture(folder / "photo.png", 640, 384)
    all_families = sorted(path.stem.removeprefix("from_") for path in pathlib.Path(__file__).parent.glob("from_*.py"))
    families, absent = [], {}

    def write():
        found, refused = {}, {}
        for family in families:
            found |= family.found
            refused |= family.refused
        (folder / "exports.json").write_text(json.dumps(
            {"photo": str(photo), "size": Image.open(photo).size, "models": found, "refused": refused, "absent": absent}))
        return f"{len(found)} exports in {folder}, {len(refused)} that their exporters refuse"

    for name in dict.fromkeys(one.split("_")[0] for one in wanted) if wanted else all_families:
        families.append(Family(name, folder, [one for one in wanted if one.split("_")[0] == name], write))
        try:
            importlib.import_module(f"from_{name}").export(families[-1], photo)
        except ImportError as error:
            absent[name] = str(error)
            print(f"{name}: absent: {error}", flush=True)
    print(write())


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
