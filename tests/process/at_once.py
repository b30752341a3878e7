"""Runs the tests of a file several at a time: for those that mostly wait for processes, each in a folder of its own."""

import concurrent.futures
import sys
import unittest


def tests_of(suite):
    for each in suite:
        if isinstance(each, unittest.TestSuite):
            yield from tests_of(each)
        else:
            yield each


def run_one(test):
    result = unittest.TestResult()
    test(result)
    return result


def main(at_once):
    """unittest.main() with its own words for which tests: none, or Class or Class.test_name."""
    loader, module, names = unittest.TestLoader(), sys.modules["__main__"], sys.argv[1:]
    tests = list(tests_of(loader.loadTestsFromNames(names, module) if names else loader.loadTestsFromModule(module)))
    if not tests:
        sys.exit("there are no such tests")
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        running = {pool.submit(run_one, test): test for test in tests}
        for done in concurrent.futures.as_completed(running):
            result = done.result()
            wrong = result.errors + result.failures + [(test, "passes, which was not expected") for test in result.unexpectedSuccesses]
            failed += bool(wrong)
            print(f"{running[done].id()}: {'FAILED' if wrong else 'skipped' if result.skipped else 'ok'}", file=sys.stderr, flush=True)
            for test, why in wrong:
                print(f"{test}\n{why}", file=sys.stderr, flush=True)
    print(f"{len(tests)} tests, {failed} failed", file=sys.stderr)
    sys.exit(1 if failed else 0)
