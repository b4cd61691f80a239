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


CONTENDERS = [
    Contender("diffprivlib `tools.mean`", "mean", "pure", REPLACE, "frame", mean),
    Contender("diffprivlib `GaussianAnalytic`", "counts", "approximate", REPLACE, "frame", gaussian),
    Contender("diffprivlib `tools.count_nonzero`", "counts", "pure", REPLACE, "frame", counts),
]
