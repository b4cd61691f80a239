"""OpenDP: Polars queries in a Context, and chains of the framework."""

from peer import ADD_REMOVE, DELTA, QUESTIONS, REPLACE, Contender


def prelude():
    import opendp.prelude as dp

    dp.enable_features("contrib", "floating-point")
    return dp


def polars(select, loss):
    """A query in a Context. The noise is searched for while the query is resolved, before a row is looked at."""

    def make(source, epsilon, many):
        import polars as pl

        dp = prelude()
        schema = {name: pl.Float64 if name == "x" else pl.Boolean for name in source.columns}
        empty = pl.LazyFrame(schema=schema)
        context = dp.Context.compositor(
            data=empty, privacy_unit=dp.unit_of(contributions=1), privacy_loss=loss(dp, epsilon),
            split_evenly_over=1, margins=[dp.polars.Margin(max_length=source.rows)])
        measurement = context.query().select(select(pl)).resolve()
        many_columns = len(source.columns) > 1

        def release():
            frame = pl.from_pandas(source.frame).lazy()
            row = list(measurement(frame).collect().row(0))
            return [row] if many_columns else row

        return release

    return make


def known_size(source, epsilon, many):
    """Replacing a row is two steps of the symmetric distance: one out, one in."""
    dp = prelude()
    rows = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=source.rows), dp.symmetric_distance()
    mean = rows >> dp.t.then_clamp((0.0, 1.0)) >> dp.t.then_mean()
    measurement = dp.binary_search_chain(lambda scale: mean >> dp.m.then_laplace(scale), d_in=2, d_out=epsilon)
    return lambda: [measurement(source.frame["x"].to_numpy())]


def quantile(source, epsilon, many):
    """Of candidates, which the caller gives: as many, and as far apart, as the edges of our bins."""
    import numpy

    dp = prelude()
    rows = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()
    candidates = numpy.linspace(0.0, 1.0, 16385)
    measurement = dp.binary_search_chain(
        lambda scale: dp.m.make_private_quantile(*rows, dp.max_divergence(), candidates, source.q, scale),
        d_in=1, d_out=epsilon)
    return lambda: [measurement(source.frame["x"].to_numpy())]


def vector_gaussian(dp, epsilon):
    """The least scale at which 64 counts of the same rows are (epsilon, DELTA)-private, as OpenDP converts."""
    space = dp.vector_domain(dp.atom_domain(T="i64"), size=QUESTIONS), dp.l2_distance(T=float)

    def private(scale):
        zcdp = dp.m.make_gaussian(*space, scale)
        return dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(zcdp), DELTA)

    scale = dp.binary_search_param(private, d_in=QUESTIONS**0.5, d_out=(epsilon, DELTA))
    return scale, dp.m.make_gaussian(*space, scale)


def vector(noise):
    """One measurement of the vector of counts, whose sensitivity is given; the sums are numpy's."""

    def make(source, epsilon, many):
        measurement = noise(prelude(), epsilon)
        return lambda: [measurement(source.frame.to_numpy().sum(axis=0))]

    return make


def vector_laplace(dp, epsilon):
    space = dp.vector_domain(dp.atom_domain(T="i64"), size=QUESTIONS), dp.l1_distance(T="i64")
    return dp.binary_search_chain(lambda scale: dp.m.make_laplace(*space, scale), d_in=QUESTIONS, d_out=epsilon)


def pure(dp, epsilon):
    return dp.loss_of(epsilon=epsilon)


def concentrated(dp, epsilon):
    scale, _ = vector_gaussian(dp, epsilon)
    return dp.loss_of(rho=QUESTIONS / (2 * scale * scale))


def cell(pl):
    return pl.col("x").fill_null(0.0).fill_nan(0.0)


CONTENDERS = [
    Contender("OpenDP Polars `dp.mean`", "mean", "pure", ADD_REMOVE, "frame",
              polars(lambda pl: cell(pl).dp.mean((0.0, 1.0)), pure)),
    Contender("OpenDP Polars, centred by hand", "mean", "pure", ADD_REMOVE, "frame",
              polars(lambda pl: (cell(pl) - 0.5).dp.mean((-0.5, 0.5)) + 0.5, pure), timed=False),
    Contender("OpenDP `make_mean`", "mean", "pure", REPLACE, "frame", known_size, patience=2),
    Contender("OpenDP `make_gaussian`", "counts", "approximate", ADD_REMOVE, "frame",
              vector(lambda dp, epsilon: vector_gaussian(dp, epsilon)[1])),
    Contender("OpenDP Polars `dp.sum`", "counts", "approximate", ADD_REMOVE, "frame",
              polars(lambda pl: [pl.col(f"q{i}").cast(int).fill_null(0).dp.sum((0, 1)) for i in range(QUESTIONS)],
                     concentrated)),
    Contender("OpenDP `make_private_quantile`", "quantile", "pure", ADD_REMOVE, "frame", quantile, patience=2,
              timed=False),
    Contender("OpenDP `make_laplace`", "counts", "pure", ADD_REMOVE, "frame", vector(vector_laplace)),
]
