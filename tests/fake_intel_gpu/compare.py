#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the rows of tests/fake_intel_gpu on both sides and compares their outcomes with the table of docs/guide/gpu_oracle.md.

A difference that the table does not list is an error, and so is a row of the table that no longer differs, or differs in
another way. --write rewrites the table's outcomes, keeps its reasons, and leaves the reasons of new rows empty: an error, too.

--outcomes FILE is what Tenon's side said on Intel's runtime: it is compared too, and --write rewrites it. Without --theirs, Tenon's side alone
runs, on the loader's platform (PoCL), and must say the same, or what the file's third column has for this platform.
"""
import argparse
import os
import pathlib
import subprocess
import sys

BEGIN, END = "<!-- differences -->", "<!-- end of differences -->"


def outcomes(program, preload, part):
    environment = dict(os.environ)
    if preload:
        environment["LD_PRELOAD"] = preload
    ran = subprocess.run([program] + ([part] if part else []), env=environment, stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL, text=True, timeout=1500)
    if ran.returncode != 0:
        sys.exit(f"gpu twin: {program} ended with {ran.returncode}")
    return dict(line.split("\t", 1) if "\t" in line else (line, "") for line in ran.stdout.splitlines())


def read_table(guide):
    """{row: (theirs, ours, why)}"""
    text = guide.read_text()
    rows = text[text.index(BEGIN):text.index(END)].splitlines()[3:]
    cells = [[cell.strip() for cell in row.strip("|").split(" | ")] for row in rows if row.startswith("|")]
    return {row[0].strip("| `"): (row[1], row[2], row[3].strip(" |")) for row in cells}


def write_table(guide, table):
    text = guide.read_text()
    lines = [BEGIN, "| row | OpenVINO | Tenon | why |", "|---|---|---|---|"]
    lines += [f"| `{row}` | {theirs} | {ours} | {why} |" for row, (theirs, ours, why) in table.items()]
    guide.write_text(text[:text.index(BEGIN)] + "\n".join(lines) + "\n" + text[text.index(END):])


def read_outcomes(path):
    """{row: [outcome on Intel's runtime, outcome on PoCL where it is another one]}"""
    lines = path.read_text().splitlines() if path.exists() else []
    return {row: rest for row, *rest in (line.split("\t") for line in lines)}


def write_outcomes(path, outcomes):
    path.write_text("".join("\t".join([row, *rest]) + "\n" for row, rest in outcomes.items()))


def compare_alone(arguments):
    """Tenon's side on the loader's platform, beside the file."""
    ours = outcomes(arguments.ours, "", arguments.part)
    known = read_outcomes(arguments.outcomes)
    if arguments.write:
        write_outcomes(arguments.outcomes, {row: known[row][:1] + ([said] if said != known[row][0] else [])
                                            for row, said in ours.items()})
        known = read_outcomes(arguments.outcomes)
    problems = [f"{row}: '{said}', and {arguments.outcomes.name} has {known.get(row, 'no such row')}" for row, said in ours.items()
                if row not in known or known[row][-1] != said]
    if not arguments.part:
        problems += [f"{row}: in {arguments.outcomes.name}, and no row" for row in known if row not in ours]
    print("\n".join(problems) or f"gpu twin: {len(ours)} rows, as recorded")
    return 1 if problems or not ours else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ours", required=True)
    parser.add_argument("--theirs")
    parser.add_argument("--outcomes", type=pathlib.Path, default=pathlib.Path(__file__).with_name("outcomes.tsv"),
                        help="what Tenon's side said")
    parser.add_argument("--preload", default="", help="a library for OpenVINO's side")
    parser.add_argument("--guide", type=pathlib.Path, help="with --theirs: the table of differences")
    parser.add_argument("--part", default="", help="only rows whose names contain it")
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    if not arguments.theirs:
        return compare_alone(arguments)
    theirs = outcomes(arguments.theirs, arguments.preload, arguments.part)
    ours = outcomes(arguments.ours, "", arguments.part)
    if not theirs or theirs.keys() != ours.keys():
        sys.exit(f"gpu twin: the programs have {len(theirs)} and {len(ours)} rows, and not the same ones")
    known = read_table(arguments.guide)
    found = {row: (theirs[row], ours[row], known.get(row, ("", "", ""))[2]) for row in theirs if theirs[row] != ours[row]}
    if arguments.write:
        write_table(arguments.guide, found)
        known = found
        recorded = read_outcomes(arguments.outcomes)
        write_outcomes(arguments.outcomes, {row: [said, *recorded.get(row, [])[1:]] for row, said in ours.items()})
    problems = []
    for row, (their, our, why) in found.items():
        if row not in known:
            problems.append(f"{row}: OpenVINO '{their}', Tenon '{our}': not in the table")
        elif known[row][:2] != (their, our):
            problems.append(f"{row}: OpenVINO '{their}', Tenon '{our}': the table says {known[row][:2]}")
        elif not why:
            problems.append(f"{row}: the table does not say why")
    for row in known:
        if row in theirs and row not in found:
            problems.append(f"{row}: both say '{ours[row]}' now: take it out of the table")
        elif row not in theirs and not arguments.part:
            problems.append(f"{row}: in the table, and no row")
    recorded = read_outcomes(arguments.outcomes)
    problems += [f"{row}: Tenon '{said}', and {arguments.outcomes.name} has {recorded.get(row, 'no such row')}"
                 for row, said in ours.items() if row not in recorded or recorded[row][0] != said]
    print(f"gpu twin: {len(theirs)} rows, {len(theirs) - len(found)} alike, {len(found)} differ as the table says"
          if not problems else "\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
