"""Kills and joins without end: members of a grid are killed, stopped, sent away and replaced, any of them, the founder too.
GRID_ROUNDS says how often (40); GRID_STRATEGY with which strategy (allreduce). After every change the others go on, and where
models are equal the last ones have the same to the bit."""

import os
import random
import signal
import sys
import unittest

from grid_test import Grid
from veche_runs import LONGEST

ROUNDS = int(os.environ.get("GRID_ROUNDS", "40"))
STRATEGY = os.environ.get("GRID_STRATEGY", "allreduce")
SEED = int(os.environ.get("VECHE_TEST_SEED", random.SystemRandom().randrange(10**6)))
MEMBERS = 4


class Soak(Grid):
    def test_many_rounds(self):
        chance = random.Random(SEED)
        print(f"seed {SEED}, {ROUNDS} rounds", file=sys.stderr)
        founder, _ = self.found({"strategy.name": STRATEGY, "run.steps": 10**6})
        here = [founder]
        for number in range(ROUNDS):
            while len(here) < MEMBERS:
                invitation = self.invitation(chance.choice(here))
                here.append(self.member(f"m{number}-{len(here)}", "join", invitation))
                self.until_seated(here[0], *[one.name for one in here])
            leaver = here.pop(chance.randrange(len(here)))
            how = chance.choice(["kill", "stop", "leave"])
            leaver.process.send_signal({"kill": signal.SIGKILL, "stop": signal.SIGSTOP, "leave": signal.SIGINT}[how])
            self.until_seated(here[0], *[one.name for one in here])
            self.until_it_goes_on(here[0])
            if how == "stop":
                leaver.process.kill()
            leaver.process.wait(LONGEST)
            self.all.remove(leaver)
            leaver.end()
            if number % 10 == 9:
                print(f"{number + 1} rounds, step {here[0].step()}", file=sys.stderr)
        for one in here:
            one.process.send_signal(signal.SIGINT)
            self.ends(one, 130)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "Soak.test_many_rounds"])
