#!/usr/bin/env python3
"""Three banks with tables of their own train one model; only parameters travel.

    examples/banks/run.py                                  a made-up table
    examples/banks/run.py credit-default.csv.zst           the real one, in CSV, perhaps packed (.gz, .zst)
    examples/banks/run.py TABLE --out FOLDER --epochs 8

Each client's row tells whether the next payment was missed (the column `class`). The banks have clients with small,
medium and large credit limits. The script trains three times: each bank alone, all rows pooled in one table (which the
banks may not do), and the three together as members of a grid. Every model is asked about the same rows, those whose ID
is divisible by 5, which no model was trained on. It prints the area under the ROC curve (AUC) of each.
"""

import argparse
import csv
import os
import pathlib
import random
import re
import subprocess
import sys
import time

VECHE = os.environ.get("VECHE", "veche")
BANKS = {"small": (0, 50_000), "medium": (50_000, 200_000), "large": (200_000, float("inf"))}  # credit limits
TARGET = "class"
TABLE = ["data.target=class", 'data.ignore=["ID"]', 'data.categories=["SEX","EDUCATION","MARRIAGE"]', "data.test=ID % 5 == 0"]
MODEL = ["model.name=mlp", "model.hidden=[64,32]", "optimizer.name=adam", "optimizer.lr=0.001", "optimizer.weight_decay=0.001",
         "data.batch=128", "run.checkpoint_every=0"]
HERE = ["grid.listen=127.0.0.1:0", "grid.multicast=false"]  # only this machine


def made_up(rows):
    """A table with the real one's columns; who misses a payment follows from a few of them, and from chance."""
    chance = random.Random(1)
    names = ["ID", "LIMIT_BAL", "SEX", "EDUCATION", "MARRIAGE", "AGE", *(f"PAY_{i}" for i in (0, 2, 3, 4, 5, 6)),
             *(f"BILL_AMT{i}" for i in range(1, 7)), *(f"PAY_AMT{i}" for i in range(1, 7)), TARGET]
    table = [names]
    for row in range(1, rows + 1):
        limit = chance.choice([20_000, 30_000, 50_000, 80_000, 120_000, 200_000, 300_000, 500_000])
        late = [max(-2, min(8, round(chance.gauss(0, 1.2)))) for _ in range(6)]
        bills = [round(limit * chance.uniform(0, 0.8)) for _ in range(6)]
        paid = [round(bill * chance.uniform(0, 0.3)) for bill in bills]
        education = chance.choice([1, 2, 2, 3, 4])
        risk = 1.4 * late[0] + 0.5 * late[1] - 0.4 * (limit / 100_000) + 0.3 * (education == 3) - 1.6 + chance.gauss(0, 1)
        table.append([row, limit, chance.choice([1, 2]), education, chance.choice([1, 2, 3]), chance.randrange(21, 70),
                      *late, *bills, *paid, int(risk > 0)])
    return [[str(cell) for cell in row] for row in table]


def read(path):
    unpacking = {".zst": ["zstd", "-dc"], ".gz": ["gzip", "-dc"]}.get(pathlib.Path(path).suffix, ["cat"])
    text = subprocess.run([*unpacking, path], stdout=subprocess.PIPE, text=True, check=True).stdout
    return list(csv.reader(text.splitlines()))


def divide(table, folder):
    """The files of the banks, of all rows, and of the rows to test with."""
    head, rows = table[0], table[1:]
    place = {name: i for i, name in enumerate(head)}
    limit, number = place["LIMIT_BAL"], place["ID"]
    parts = {"pooled": rows, "test": [row for row in rows if int(row[number]) % 5 == 0]}
    for bank, (least, most) in BANKS.items():
        parts[bank] = [row for row in rows if least < float(row[limit]) <= most]
    for name, part in parts.items():
        with open(folder / f"{name}.csv", "w", newline="") as file:
            csv.writer(file).writerows([head, *part])
    return {name: sum(int(row[number]) % 5 != 0 for row in part) for name, part in parts.items()}


def words(settings):
    return [word for setting in settings for word in ("--set", setting)]


def train(folder, name, epochs, seed):
    subprocess.run([VECHE, "train", "--quiet", *words([*TABLE, *MODEL, f"data.path={folder / name}.csv", f"run.out={folder / 'runs'}",
                                                       f"run.name={name}", f"run.epochs={epochs}", f"run.seed={seed}", "cluster.nodes=1",
                                                       "strategy.name=single"])], check=True)
    return folder / "runs" / name


def together(folder, epochs, seed):
    """The first bank founds the run, the others join with its invitation. On machines of their own they do the same."""
    shared = [*TABLE, *MODEL, f"run.epochs={epochs}", f"run.seed={seed}", "strategy.name=local-sgd", "strategy.period=8", f"grid.wait_for={len(BANKS)}"]
    members = []
    invitation = ""
    for bank in BANKS:
        own = [*HERE, f"data.path={folder / bank}.csv", f"run.out={folder / 'together'}", f"run.name={bank}", f"grid.name={bank}"]
        command = ["start", *words(shared)] if not members else ["join", invitation]
        log = open(folder / f"{bank}.log", "w")
        members.append(subprocess.Popen([VECHE, "grid", *command, *words(own)], stdout=subprocess.PIPE, stderr=log, text=True))
        if not invitation:
            invitation = members[0].stdout.readline().strip()
            if not re.fullmatch(r"VECHE1-\S+", invitation):
                sys.exit((folder / f"{bank}.log").read_text())
    for bank, member in zip(BANKS, members):
        member.communicate()
        if member.returncode != 0:
            sys.exit(f"{bank}: " + (folder / f"{bank}.log").read_text())
    return folder / "together" / next(iter(BANKS))


def area(truths, scores):
    """The share of pairs of a 1 and a 0 in which the 1 has the higher score; equal scores count half."""
    order = sorted(zip(scores, truths))
    ranks, ones, i = 0.0, 0, 0
    while i < len(order):
        j = i
        while j < len(order) and order[j][0] == order[i][0]:
            j += 1
        of_ones = sum(truth for _, truth in order[i:j])
        ranks += of_ones * (i + j + 1) / 2  # the mean of the ranks i+1 .. j
        ones += of_ones
        i = j
    return (ranks - ones * (ones + 1) / 2) / (ones * (len(order) - ones))


def tested(folder, run):
    """The AUC on the test rows. A row that a model cannot answer, as its bank never had that category, gets its mean."""
    answers = folder / f"{run.parent.name}-{run.name}-answers.csv"
    subprocess.run([VECHE, "predict", run, folder / "test.csv", "--out", answers], stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, check=False)
    with open(answers, newline="") as file:
        rows = list(csv.DictReader(file))
    known = [float(row["p(1)"]) for row in rows if row["p(1)"]]
    with open(folder / "test.csv", newline="") as file:
        truths = [int(row[TARGET]) for row in csv.DictReader(file)]
    scores = [float(row["p(1)"]) if row["p(1)"] else sum(known) / len(known) for row in rows]
    return area(truths, scores)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("table", nargs="?", help="the table; without it one is made up")
    parser.add_argument("--out", default="banks", help="folder for everything that is written")
    parser.add_argument("--epochs", type=float, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rows", type=int, default=6000, help="of the made-up table")
    given = parser.parse_args()
    folder = pathlib.Path(given.out)
    folder.mkdir(parents=True)
    rows = divide(read(given.table) if given.table else made_up(given.rows), folder)
    print("| trained by | training rows | AUC |\n|---|---|---|", flush=True)
    for bank in BANKS:
        print(f"| bank {bank}, alone | {rows[bank]:,} | {tested(folder, train(folder, bank, given.epochs, given.seed)):.4f} |", flush=True)
    print(f"| all three, pooled | {rows['pooled']:,} | {tested(folder, train(folder, 'pooled', given.epochs, given.seed)):.4f} |", flush=True)
    start = time.monotonic()
    run = together(folder, given.epochs, given.seed)
    print(f"| all three, together on the grid | {sum(rows[bank] for bank in BANKS):,} | {tested(folder, run):.4f} |", flush=True)
    print(f"\nTogether they took {time.monotonic() - start:.0f} s. No row left its bank's process.", flush=True)


if __name__ == "__main__":
    main()
