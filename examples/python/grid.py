#!/usr/bin/env python3
"""Three members train one model on a grid. One is killed, and the others go on.

    python3 examples/python/grid.py --steps 300

It starts itself three times, as people would on three machines:

    python3 -m veche.launch --found grid.py --member 0             prints an invitation
    python3 -m veche.launch --join VECHE1-... grid.py --member 1   on another machine
"""

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading

import torch

import veche

HERE = ["--set", "grid.listen=127.0.0.1:0", "--set", "grid.multicast=false"]  # only this machine


def train(member, steps, dies_at):
    torch.manual_seed(member)  # the founder's model is the first
    model = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    optimizer = veche.Optimizer(optimizer, model, keep=False, set={"grid.wait_for": 3})
    members = 0
    while optimizer.steps < steps:
        if optimizer.steps == dies_at:
            os.kill(os.getpid(), signal.SIGKILL)  # as a power cut: nothing is said or saved
        if veche.size() != members:
            members = veche.size()
            print(f"member {member}: {members} members train from step {optimizer.steps}", flush=True)
        x = torch.randn(64, 8)
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), x.sin().sum(1, keepdim=True))
        loss.backward()
        optimizer.step()
    sum_of_all = sum(p.double().sum().item() for p in model.parameters())
    print(f"member {member}: step {optimizer.steps}, sum of the parameters {sum_of_all:.15g}", flush=True)
    optimizer.finish()


def start(how, member, *words):
    command = [sys.executable, "-m", "veche.launch", *how, *HERE, __file__, "--member", member, *words]
    return subprocess.Popen(list(map(str, command)), text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def show(member, lines):
    for line in member.stdout:
        print(line, end="", flush=True)
        lines.append(line)


def start_all(steps):
    founder, lines = start(["--found"], 0, "--steps", steps), []
    for line in founder.stdout:
        lines.append(line)
        if invitation := re.search(r"VECHE1-\S+", line):
            break
    else:
        sys.exit("".join(lines))
    others = [start(["--join", invitation[0]], member, "--steps", steps) for member in (1,)]
    others.append(start(["--join", invitation[0]], 2, "--steps", steps, "--dies-at", steps // 3))
    members, lines = [founder, *others], []
    readers = [threading.Thread(target=show, args=(member, lines)) for member in members]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    ends = [member.wait() for member in members]
    sums = {found[1] for line in lines if (found := re.search(r"sum of the parameters (\S+)", line))}
    print(f"exit codes {ends}; the members left have {'the same model' if len(sums) == 1 else 'different models'}")
    return 0 if ends == [0, 0, -signal.SIGKILL] and len(sums) == 1 else 1


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--steps", type=int, default=300)
    words.add_argument("--member", type=int, help="take part as this member")
    words.add_argument("--dies-at", type=int, metavar="STEP", help="of this member")
    given = words.parse_args()
    if given.steps < 30:
        words.error(f"--steps {given.steps} is less than 30, in which a member can come and go")
    if given.member is not None:
        return train(given.member, given.steps, given.dies_at)
    with tempfile.TemporaryDirectory(prefix="veche-grid-") as folder:
        os.environ["TMPDIR"] = folder  # a killed member cannot remove its files
        return start_all(given.steps)


sys.exit(main())
