"""What a join costs those who train on: two hosts train with compressed all-reduce, a third joins, over links of 100 Mbit/s.
The state is about 100 MB. Needs root and the network laboratory:

  VECHE=build/veche scripts/netlab --hosts 3 --rate 100mbit each python3 -B tests/process/grid_join_cost.py FOLDER

A step waits for a tenth of a second besides (cluster.stall): three members on two cores would otherwise take each other's time,
which machines of their own do not. JOIN_STALL changes it.

Host 1 prints the steps a second before the join and until the newcomer is let in; at least 0.9 of them must be kept."""

import json
import os
import pathlib
import re
import subprocess
import sys
import time

VECHE, HOST = os.environ["VECHE"], int(os.environ["HOST"])
FOLDER = pathlib.Path(sys.argv[1])
QUIET = 30  # seconds that are measured before the join
# 12 M parameters, and as many numbers of momentum.
MODEL = ["data.name=synthetic", "data.samples=2000", "data.test_samples=10", "data.shape=[1,32,32]", "model.name=mlp",
         "model.hidden=[3000,3000]", "data.batch=4", "optimizer.name=sgd", "optimizer.lr=0.001", "optimizer.momentum=0.9",
         "strategy.name=allreduce", "compress.codec=topk:0.001", "run.steps=1000000", "run.eval_every=1000000",
         "run.checkpoint_every=1000000", "data.workers=0", "model.threads=1",
         f"cluster.stall=[1, {os.environ.get('JOIN_STALL', '0.1')}]"]


def grid(*words, keys=()):
    log = open(FOLDER / f"host{HOST}.log", "w")
    own = [f"run.out={FOLDER}", f"run.name=h{HOST}", "grid.listen=0.0.0.0:0"]
    words = [VECHE, "grid", *words, "--name", f"h{HOST}"] + [w for key in [*own, *keys] for w in ("--set", key)]
    return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log)


def until(what, limit=200):
    end = time.monotonic() + limit
    while time.monotonic() < end:
        if found := what():
            return found
        time.sleep(0.2)
    sys.exit(f"host {HOST}: waited in vain")


def known():
    asked = subprocess.run([VECHE, "grid", "members", FOLDER / "h1", "--json"], capture_output=True, text=True)
    return json.loads(asked.stdout) if asked.returncode == 0 else {"step": 0, "members": []}


def seated():
    return sum(one["seat"] >= 0 for one in known()["members"])


def told(host):
    log = FOLDER / f"host{host}.log"
    return log.read_text() if log.exists() else ""


def marked(name):
    return until((FOLDER / name).exists)


def main():
    if HOST == 1:
        process = grid("start", keys=MODEL)
        until(lambda: seated() == 2)
        time.sleep(5)
        began, first = time.monotonic(), known()["step"]
        time.sleep(QUIET)
        before = (known()["step"] - first) / (time.monotonic() - began)
        (FOLDER / "now").touch()
        began, first = time.monotonic(), known()["step"]
        until(lambda: seated() == 3)
        took, steps = time.monotonic() - began, known()["step"] - first
        print(json.dumps({"steps_a_second": round(before, 3), "while_it_joins": round(steps / took, 3), "seconds": round(took, 1),
                          "kept": round(steps / took / before, 3)}))
        print(re.findall(r".*while they trained.*", told(3)), re.findall(r"view .*", told(3)))
        (FOLDER / "end").touch()
    else:
        invitation = until(lambda: re.findall(r"VECHE1-\S+", told(1)))[0]
        if HOST == 3:
            marked("now")
        process = grid("join", invitation)
        marked("end")
    process.kill()
    process.wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
