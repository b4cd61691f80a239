"""IBM's diffprivlib. Its n is public: the mean's noise is scaled by the number of rows as it is."""

from peer import DELTA, QUESTIONS, REPLACE, Contender


def mean(source, epsilon, many):
    from diffprivlib import tools

    return lambda: [tools.mean(source.frame["x"].to_numpy(), epsilon=epsilon, bounds=(0.0, 1.0))]


def counts(source, epsilon, many):
    """Splits epsilon among the columns itself."""
    from diffprivlib import tools

    return lambda: [tools.count_nonzero(source.frame.to_numpy(), epsilon=epsilon, axis=0)]


def gaussian(source, epsilon, many):
    """Its own Gaussian noise, whose sensitivity is given; the sums are numpy's."""
    from diffprivlib.mechanisms import GaussianAnalytic

    mechanism = GaussianAnalytic(epsilon=epsilon, delta=DELTA, sensitivity=QUESTIONS**0.5)
    return lambda: [[mechanism.randomise(float(count)) for count in source.frame.to_numpy().sum(axis=0)]]


def quantile(source, epsilon, many):
    from diffprivlib import tools

    return lambda: [tools.quantile(source.frame["x"].to_numpy(), source.q, epsilon=epsilon, bounds=(0.0, 1.0))]


def slope(source, epsilon, many):
    """The line of its LinearRegression, whose epsilon pays for the intercept, too."""
    from diffprivlib.models import LinearRegression

    def release():
        model = LinearRegression(epsilon=epsilon, bounds_X=(0.0, 1.0), bounds_y=(0.0, 1.0))
        model.fit(source.frame[["x"]].to_numpy(), source.frame["y"].to_numpy())
        return [float(model.coef_.ravel()[0])]

    return release


CONTENDERS = [
    Contender("diffprivlib `tools.mean`", "mean", "pure", REPLACE, "frame", mean),
    Contender("diffprivlib `GaussianAnalytic`", "counts", "approximate", REPLACE, "frame", gaussian),
    Contender("diffprivlib `tools.count_nonzero`", "counts", "pure", REPLACE, "frame", counts),
    Contender("diffprivlib `tools.quantile`", "quantile", "pure", REPLACE, "frame", quantile, timed=False),
    Contender("diffprivlib `LinearRegression`", "slope", "pure", REPLACE, "frame", slope, patience=2, timed=False),
]
