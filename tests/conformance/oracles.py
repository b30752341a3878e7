"""Where the numbers of oracles_test.cc, equivalence_test.cc and compressed_mean_test.cc come from: each rule of docs/oracles.md in exact fractions.

Fails when a number that follows from a rule does not stand in the tests. Also takes the eigenvalues of tests/topology/graphs.json anew.
"""
from fractions import Fraction as F
import json
import pathlib

import numpy

HERE = pathlib.Path(__file__).parent
TESTS = "".join((HERE / name).read_text() for name in ("oracles_test.cc", "equivalence_test.cc", "compressed_mean_test.cc")).replace("\n", " ")
A, B = [F(1), F(2), F(3), F(4)], [F(1), F(-1), F(2), F(0)]
RING = [[F(1, 3) if i == j or (i - j) % 4 in (1, 3) else F(0) for j in range(4)] for i in range(4)]


def times(matrix, x):
    return [sum(w * v for w, v in zip(row, x)) for row in matrix]


def gradient(x):
    return [a * (v - b) for a, v, b in zip(A, x, B)]


def solved(matrix, right):
    """x with matrix x = right, by elimination."""
    rows = [list(row) + [value] for row, value in zip(matrix, right)]
    for k in range(len(rows)):
        pivot = next(i for i in range(k, len(rows)) if rows[i][k] != 0)
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [value / rows[k][k] for value in rows[k]]
        for i in range(len(rows)):
            if i != k:
                rows[i] = [value - rows[i][k] * above for value, above in zip(rows[i], rows[k])]
    return [row[-1] for row in rows]


def fixed_point(step):
    """Of an affine step on four numbers."""
    constant = step([F(0)] * 4)
    columns = [[v - c for v, c in zip(step([F(i == k) for i in range(4)]), constant)] for k in range(4)]
    return solved([[F(i == j) - columns[j][i] for j in range(4)] for i in range(4)], constant)


def shown(value, digits=6):
    """As the tests write decimals: .05, -.1, 4."""
    text = f"{float(value):.{digits}f}".rstrip("0").rstrip(".")
    return text.replace("0.", ".", 1) if text.lstrip("-").startswith("0.") else text


def expect(*numbers):
    text = ", ".join(numbers)
    assert text in TESTS, f"{text} follows from the rules and stands in no test"
    print(text)


def over(values, denominator):
    return [f"{value * denominator}.0 / {denominator}" for value in values]


def four_quadratics():
    lr = F(1, 20)
    adapt_then_combine = fixed_point(lambda x: times(RING, [v - lr * g for v, g in zip(x, gradient(x))]))
    expect(*over(adapt_then_combine, 43397))
    combine_then_adapt = fixed_point(lambda x: [v - lr * g for v, g in zip(times(RING, x), gradient(x))])
    expect(*(f"{v.numerator}.0 / {v.denominator}" for v in combine_then_adapt))

    x, y = [F(0)] * 4, gradient([F(0)] * 4)
    for step in range(100):
        new = [v - lr * t for v, t in zip(times(RING, x), y)]
        y = [t + after - before for t, after, before in zip(times(RING, y), gradient(new), gradient(x))]
        x = new
        if step < 2:
            expect(*map(shown, x))
    expect(f"The exact error is {float(max(abs(v - F(1, 2)) for v in x)):.2e}".replace("e-0", "e-"))

    lr, lazy = F(1, 10), [[(w + (i == j)) / 2 for j, w in enumerate(row)] for i, row in enumerate(RING)]
    before, x = [F(0)] * 4, times(lazy, [-lr * g for g in gradient([F(0)] * 4)])
    expect(*(f"{v.numerator}.0 / {v.denominator}" for v in x))
    for _ in range(99):
        inner = [2 * v - old - lr * (g - h) for v, old, g, h in zip(x, before, gradient(x), gradient(before))]
        before, x = x, times(lazy, inner)
    assert max(abs(v - F(1, 2)) for v in x) < 1e-12


def periods():
    lr, a, b = F(1, 10), (1, 4), (0, 1)

    def averaged(x, steps):
        return sum(b_i + (1 - lr * a_i) ** steps * (x - b_i) for a_i, b_i in zip(a, b)) / 2

    for steps in (1, 2, 4, 10):
        gain, offset = averaged(F(1), steps) - averaged(F(0), steps), averaged(F(0), steps)
        expect(f'{{"{steps}"', shown(offset / (1 - gain)) + "}")
    x, momentum, rounds = F(0), F(0), []
    for _ in range(4):
        outer = x - averaged(x, 10)
        momentum = F(9, 10) * momentum + outer
        x -= F(7, 10) * (outer + F(9, 10) * momentum)
        rounds.append(f"{float(x):.6f}".removeprefix("0"))
    expect(*rounds)


def push_sum():
    columns = [[F(1, 3), F(0), F(1, 2)], [F(1, 3), F(1, 2), F(0)], [F(1, 3), F(1, 2), F(1, 2)]]
    x, weight = [F(0), F(3), F(9)], [F(1)] * 3
    for _ in range(2):
        x, weight = times(columns, x), times(columns, weight)
        expect(*(f"{(v / w).numerator}.0 / {(v / w).denominator}" for v, w in zip(x, weight)))


def choco():
    """In double precision: two entries that are equal in the second round are not by rounding, in single precision as well."""
    x = [[1.0, 0.0], [0.0, 2.0], [-1.0, 1.0], [3.0, -4.0]]
    copies, gamma = [[0.0] * 2 for _ in x], 0.3
    for step in range(1, 51):
        for mine, copy in zip(x, copies):
            left = [v - c for v, c in zip(mine, copy)]
            largest = max(range(2), key=lambda i: abs(left[i]))  # the first of equal ones
            copy[largest] += left[largest]
        x = [[mine[d] + gamma * sum(float(RING[i][j]) * (copies[j][d] - copies[i][d]) for j in range(4)) for d in range(2)]
             for i, mine in enumerate(x)]
        for d, mean in ((0, 0.75), (1, -0.25)):
            assert abs(sum(mine[d] for mine in x) / 4 - mean) < 1e-14
        if step == 3:
            for mine in x:
                expect(*(shown(v) for v in mine))
    squares = sum((mine[0] - 0.75) ** 2 + (mine[1] + 0.25) ** 2 for mine in x)
    expect(f"{squares:.4e}")


def fixed_weights():
    for name, graph in json.loads((HERE.parent / "topology/graphs.json").read_text()).items():
        n, edges = graph["n"], graph["edges"]
        degree = numpy.bincount(numpy.ravel(edges), minlength=n)

        def laplacian(weight):
            result = numpy.zeros((n, n))
            for i, j in edges:
                result[[i, j], [j, i]] -= weight(i, j)
                result[[i, j], [i, j]] += weight(i, j)
            return result

        curvature = numpy.linalg.eigvalsh(laplacian(lambda i, j: 1))
        rules = {"metropolis": lambda i, j: 1 / (1 + max(degree[i], degree[j])),
                 "metropolis-hastings": lambda i, j: 1 / max(degree[i], degree[j]),
                 "max-degree": lambda i, j: 1 / max(degree),
                 "best-constant": lambda i, j: 2 / (curvature[1] + curvature[-1])}
        for rule, weight in rules.items():
            disagreement = numpy.eye(n) - laplacian(weight) - numpy.full((n, n), 1 / n)
            rho = max(abs(numpy.linalg.eigvalsh(disagreement)))
            assert abs(rho - graph["rho"][rule]) < 1e-9, (name, rule, rho, graph["rho"][rule])
        print(name, "as stored")


four_quadratics()
periods()
push_sum()
choco()
fixed_weights()
