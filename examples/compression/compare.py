#!/usr/bin/python3
"""What each codec costs and saves in consensus on a ring of eight (CHOCO). Prints the table of docs/compression.md.

    examples/compression/compare.py [path to veche] [--codecs none,sign,...] [--set section.key=value ...] [--keep folder]

A run takes minutes: with --keep, what it ended with stays in a file for each codec, and what is there is not run again.
"""

import argparse
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
BUILT = HERE.parent.parent / "build" / "veche"  # in the source; a copy takes the program on PATH
CODECS = ["none", "sign", "topk:0.01", "topk:0.1", "fp16", "bf16", "int8", "qsgd:8", "threshold:0.001", "randomk:0.1",
          "powersgd:2", "powergossip:2"]


def run(veche, codec, assignments):
    words = [str(veche), "train", str(HERE / "ring.toml"), "--json", "--quiet"]
    for assignment in [f"compress.codec={codec}"] + assignments:
        words += ["--set", assignment]
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def kept(folder, codec, make):
    if folder is None:
        return make()
    file = folder / f"{codec.replace(':', '-')}.json"
    if not file.exists():
        folder.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(make(), indent=1))
    return json.loads(file.read_text())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("veche", nargs="?", default=BUILT if BUILT.exists() else "veche")
    parser.add_argument("--codecs", default=",".join(CODECS))
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--keep", type=pathlib.Path)
    asked = parser.parse_args()
    print("| codec | averaged model | mean of the nodes | points lost | bytes sent | of all bytes | coding, s | training, s |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    plain = None
    for codec in asked.codecs.split(","):
        summary = kept(asked.keep, codec, lambda codec=codec: run(asked.veche, codec, asked.set))
        plain = plain or summary  # the first is what the others are compared with
        accuracy, least = (100 * one["accuracy"]["average_model"] for one in (summary, plain))
        print(f"| `{codec}` | {accuracy:.2f} % | {100 * summary['accuracy']['mean']:.2f} % | {least - accuracy:.2f} | "
              f"{summary['bytes_sent'] / 1e6:,.1f} MB | 1/{plain['bytes_sent'] / summary['bytes_sent']:.1f} | "
              f"{summary.get('compression', {}).get('coding_seconds', 0):.0f} | {summary['seconds']:.0f} |", flush=True)


if __name__ == "__main__":
    main()
