"""Many newcomers in the same moment: GRID_NEWCOMERS (24; at least 2) come to as many members, who make steps meanwhile, until all go in step.
Prints how long it took, how many steps were made and how often the view changed."""

import json
import os
import sys
import time
import unittest

from members_test import MembersTest

NEWCOMERS = int(os.environ.get("GRID_NEWCOMERS", "24"))
LIMIT = 300  # seconds; nothing waits for it to pass


class Crowd(MembersTest):
    def all_in(self, members, nodes):
        for each in members:
            each.wait_nodes(nodes, LIMIT)

    def test_newcomers_at_once(self):
        here = self.grid(2, uses=4 * NEWCOMERS)
        here += [self.start("join", self.root / f"old{i}", self.invitation) for i in range(NEWCOMERS - 2)]
        self.all_in(here, NEWCOMERS)
        before = max(here[0].views())
        began = time.monotonic()
        new = [self.start("join", self.root / f"new{i}", self.invitation) for i in range(NEWCOMERS)]
        self.all_in(here + new, 2 * NEWCOMERS)
        seconds = time.monotonic() - began
        self.same_views(here + new)
        views = here[0].views()
        steps = views[max(views)][1] - views[before][1]  # up to the beginning of the last view
        print(json.dumps({"members": NEWCOMERS, "newcomers": NEWCOMERS, "seconds": round(seconds, 2), "steps_meanwhile": steps,
                          "views": max(views) - before}), file=sys.stderr)
        self.assertGreater(steps, 0)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "Crowd.test_newcomers_at_once"])
