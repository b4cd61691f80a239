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


CONTENDERS = [
    Contender("Google `BoundedMean`", "mean", "pure", ADD_REMOVE, "frame", mean),
    Contender("Google `GaussianMechanism`", "counts", "approximate", ADD_REMOVE, "frame", gaussian),
    Contender("Google `Count`", "counts", "pure", ADD_REMOVE, "frame", counts),
]
