"""Google's library, by its Python binding python-dp."""

from peer import ADD_REMOVE, DELTA, QUESTIONS, Contender


def mean(source, epsilon, many):
    from pydp.algorithms.laplacian import BoundedMean

    algorithm = BoundedMean(epsilon=epsilon, lower_bound=0.0, upper_bound=1.0, dtype="float")
    return lambda: [algorithm.quick_result(source.frame["x"].tolist())]


def counts(source, epsilon, many):
    """A row is in up to 64 partitions, which the library calls l0_sensitivity: each count at epsilon / 64."""
    from pydp.algorithms.laplacian import Count

    algorithm = Count(epsilon=epsilon, l0_sensitivity=QUESTIONS, dtype="int")

    def release():
        frame = source.frame
        ids = range(len(frame))
        return [[algorithm.quick_result(list(ids[: int(frame[f"q{i}"].sum())])) for i in range(QUESTIONS)]]

    return release


def gaussian(source, epsilon, many):
    """The library's own Gaussian noise, whose L2 sensitivity is given; the sums are numpy's."""
    from pydp.algorithms.numerical_mechanisms import GaussianMechanism

    mechanism = GaussianMechanism(epsilon, DELTA, QUESTIONS**0.5)
    return lambda: [[mechanism.add_noise(int(count)) for count in source.frame.to_numpy().sum(axis=0)]]


def quantile_tree(source, epsilon, many):
    """Its tree of counts, as high and as wide as its own default; Laplace noise on each level."""
    from pydp.algorithms.quantile_tree import QuantileTree

    def release():
        tree = QuantileTree(0.0, 1.0, 4, 16)
        for x in source.frame["x"].tolist():
            tree.add_entry(x)
        return list(tree.compute_quantiles(epsilon, 0.0, 1, 1, [source.q], "laplace"))

    return release


def percentile(source, epsilon, many):
    from pydp.algorithms.laplacian import Percentile

    algorithm = Percentile(epsilon=epsilon, percentile=source.q, lower_bound=0.0, upper_bound=1.0, dtype="float")
    return lambda: [algorithm.quick_result(source.frame["x"].tolist())]


def unbounded(source, epsilon, many):
    """Without bounds it finds some, with half of epsilon."""
    from pydp.algorithms.laplacian import BoundedMean

    algorithm = BoundedMean(epsilon=epsilon, dtype="float")

    def release():
        try:
            return [algorithm.quick_result(source.frame["x"].tolist())]
        except RuntimeError:  # it found none
            return [0.0]

    return release


CONTENDERS = [
    Contender("Google `BoundedMean`", "mean", "pure", ADD_REMOVE, "frame", mean),
    Contender("Google `GaussianMechanism`", "counts", "approximate", ADD_REMOVE, "frame", gaussian),
    Contender("Google `Count`", "counts", "pure", ADD_REMOVE, "frame", counts),
    Contender("Google `QuantileTree`", "quantile", "pure", ADD_REMOVE, "frame", quantile_tree, timed=False),
    Contender("Google `Percentile`", "quantile", "pure", ADD_REMOVE, "frame", percentile, timed=False),
    Contender("Google `BoundedMean`, automatic bounds", "unbounded", "pure", ADD_REMOVE, "frame", unbounded,
              patience=4, timed=False),
]
