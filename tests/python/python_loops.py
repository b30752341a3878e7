"""What the tests of training loops share: starting a script on several processes, and small loops."""

import json
import os
import pathlib
import subprocess
import sys

SCRIPTS = pathlib.Path(__file__).parent / "scripts"
LONGEST = 100  # seconds of one script on a busy machine


def command(script, *words, nodes=None, mpirun=None):
    python = [sys.executable, "-B"]
    if mpirun:
        python = [*mpirun.split(), "-np", str(nodes), *python]
    elif nodes:
        python += ["-m", "veche.launch", "-n", str(nodes)]
    return [*python, str(SCRIPTS / script), *map(str, words)]


def environment(**changes):
    # Unbuffered, `print` writes a line and its end apart, and the lines of several processes mix.
    return {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "",
            "PYTHONPATH": f"{SCRIPTS}:{os.environ['PYTHONPATH']}", **changes}


def run(script, *words, folder, check=True, **how):
    done = subprocess.run(command(script, *words, **how), cwd=folder, env=environment(), capture_output=True, text=True,
                          timeout=LONGEST, stdin=subprocess.DEVNULL)
    if check and done.returncode != 0:
        raise AssertionError(f"{script} ended with {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-6000:]}")
    return done


def numbers(script, *words, **how):
    """What node 0 printed: {case: number}."""
    done = run(script, *words, **how)
    return json.loads(done.stdout.strip().splitlines()[-1])
