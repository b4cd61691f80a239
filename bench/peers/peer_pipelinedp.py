"""PipelineDP on its local backend, told that a row is a person; the noise is that of Google's library."""

from peer import ADD_REMOVE, DELTA, QUESTIONS, Contender


def aggregate(rows, epsilon, delta, partitions, partition, value, **parameters):
    import pipeline_dp

    accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=epsilon, total_delta=delta)
    engine = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend())
    result = engine.aggregate(
        rows,
        pipeline_dp.AggregateParams(
            max_contributions_per_partition=1, contribution_bounds_already_enforced=True, **parameters),
        pipeline_dp.DataExtractors(partition_extractor=partition, value_extractor=value),
        public_partitions=partitions)
    accountant.compute_budgets()
    return dict(result)


def mean(source, epsilon, many):
    import pipeline_dp

    return lambda: [aggregate(
        source.frame["x"].tolist(), epsilon, 0, [0], lambda row: 0, lambda row: row,
        metrics=[pipeline_dp.Metrics.MEAN], noise_kind=pipeline_dp.NoiseKind.LAPLACE, max_partitions_contributed=1,
        min_value=0.0, max_value=1.0)[0].mean]


def counts(source, epsilon, many):
    import pipeline_dp

    def release():
        _, questions = source.frame.to_numpy().nonzero()
        answers = aggregate(
            questions.tolist(), epsilon, DELTA, list(range(QUESTIONS)), lambda row: row, lambda row: 0,
            metrics=[pipeline_dp.Metrics.COUNT], noise_kind=pipeline_dp.NoiseKind.GAUSSIAN,
            max_partitions_contributed=QUESTIONS)
        return [[answers[i].count for i in range(QUESTIONS)]]

    return release


CONTENDERS = [
    Contender("PipelineDP `MEAN`", "mean", "pure", ADD_REMOVE, "frame", mean, patience=2),
    Contender("PipelineDP `COUNT`", "counts", "approximate", ADD_REMOVE, "frame", counts, patience=3,
              timed=False),
]
