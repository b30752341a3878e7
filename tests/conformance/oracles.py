"""Where the numbers of oracles_test.cc, equivalence_test.cc, compressed_mean_test.cc and the codecs' tests come from: each rule of docs/oracles.md in exact fractions.

Fails when a number that follows from a rule does not stand in the tests. Also takes the eigenvalues of tests/topology/graphs.json anew.
"""
from fractions import Fraction as F
import json
import pathlib

import numpy

HERE = pathlib.Path(__file__).parent
COMPRESS = HERE.parents[1] / "src/veche/compress"
FILES = (HERE / "oracles_test.cc", HERE / "equivalence_test.cc", HERE / "compressed_mean_test.cc", COMPRESS / "codec_test.cc", COMPRESS / "low_rank_test.cc")
TESTS = " ".join(" ".join(file.read_text().split()) for file in FILES)
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


def listed(values, write):
    return "{" + ", ".join(map(write, values)) + "}"


def as_fraction(value):
    return str(value) if value.denominator == 1 else f"{value.numerator}.0 / {value.denominator}"


def quantised():
    """The variance of QSGD: a place between two levels, a part p of the way, is up with chance p."""
    pairs = []
    for levels in 1, 2, 4, 5:
        parts = [F(x * levels, 5) % 1 for x in (3, 4)]
        variance = F(5, levels) ** 2 * sum(p * (1 - p) for p in parts)
        pairs.append(f"{{{levels}, {float(variance):g}{'.0' if variance.denominator == 1 else ''}}}")
    pairs[0] = "std::pair" + pairs[0]
    expect(*pairs)


def remembered():
    """What a code leaves out is added to the next vector: the largest entry of (5, 3, 1); the signs of (3, -1, 2)."""
    memory, sent = [0, 0, 0], []
    for _ in range(5):
        memory = [e + g for e, g in zip(memory, (5, 3, 1))]
        k = max(range(3), key=lambda i: abs(memory[i]))
        sent.append(listed((memory[i] if i == k else 0 for i in range(3)), str))
        memory[k] = 0
    expect(*sent)
    expect("{" + ", ".join(map(str, memory)) + "}")
    memory, scales, memories = [F(0)] * 3, [], []
    for _ in range(3):
        v = [e + x for e, x in zip(memory, (3, -1, 2))]
        scale = sum(map(abs, v)) / F(3)
        memory = [x - scale * ((x > 0) - (x < 0)) for x in v]
        scales.append(as_fraction(scale))
        memories.append(listed(memory, as_fraction))
    expect(*scales)
    expect(*memories)


def deep_gradients():
    u, v, sent = [F(0)] * 3, [F(0)] * 3, []
    for _ in range(6):
        u = [F(9, 10) * a + g for a, g in zip(u, (5, 3, 1))]
        v = [b + a for a, b in zip(u, v)]
        k = max(range(3), key=lambda i: abs(v[i]))
        sent.append(f"{{{k}, {float(v[k]):.4g}}}")
        u[k] = v[k] = F(0)
    expect(*sent)
    expect(*(f"{float(x):g}" for x in u))
    expect(*(f"{float(x):g}" for x in v))


def power_iterations():
    """Rank one of diag(4, 1) from (1, 1); lengths are divided out as squares."""
    q, errors = [F(1), F(1)], []
    for _ in range(3):
        p = [4 * q[0], q[1]]
        length = p[0] ** 2 + p[1] ** 2
        q = [4 * p[0], p[1]]
        errors.append(17 - (q[0] ** 2 + q[1] ** 2) / length)
    expect(as_fraction(errors[0]), f"{float(errors[1]):.6f}", f"{float(errors[2]):.7f}")
    difference, side, from_right, distances = [[F(4), F(0)], [F(0), F(1)]], [F(1), F(1)], True, []
    for _ in range(3):
        turned = difference if from_right else [list(row) for row in zip(*difference)]
        along, length = times(turned, side), sum(x * x for x in side)
        turned = [[turned[i][j] - along[i] * side[j] / length for j in range(2)] for i in range(2)]
        difference = turned if from_right else [list(row) for row in zip(*turned)]
        side, from_right = along, not from_right
        distances.append(sum(x * x for row in difference for x in row))
    expect(*(f"{x.numerator}.0 / {x.denominator}" if x.denominator > 1 else f"{x}.0" for x in distances))


def low_rank_floats():
    cnn = [(32, 9), (64, 288), (600, 2304), (120, 600), (10, 120)]
    resnet = [(16, 27)]
    for before, channels in (16, 16), (16, 32), (32, 64):
        resnet += [(channels, 9 * before)] + [(channels, 9 * channels)] * 5
    for name, matrices, vectors in (("resnet20", resnet + [(10, 64)], 2 * (7 * 16 + 6 * 32 + 6 * 64) + 10),
                                    ("cnn", cnn, 3 * (32 + 64) + 600 + 120 + 10)):
        for rank in 1, 2, 4:
            floats = vectors + sum((n + m) * rank if 2 * (n + m) * rank < n * m else n * m for n, m in matrices)
            expect(f"floats({name}(), {rank})", f"{floats:,}u".replace(",", "'"))


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
quantised()
remembered()
deep_gradients()
power_iterations()
low_rank_floats()
fixed_weights()
