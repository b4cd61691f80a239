"""What a rival is to the runner. It imports nothing heavy, so that the memory of a rival is its own."""

import importlib
import os
from dataclasses import dataclass
from functools import cached_property
from typing import Callable

LIBRARIES = ["ours", "google", "opendp", "diffprivlib", "smartnoise", "pipelinedp", "qrlew"]
DELTA = 1e-6
# A number of yes/no questions to a row.
QUESTIONS = int(os.environ.get("QUESTIONS", "64"))
ADD_REMOVE = "add or remove a row"
REPLACE = "replace a row; n is public"


@dataclass
class Source:
    """A table of rows `id, x`, `id, q0, ..., q63` or `id, x, y` in PostgreSQL, and its rows in a DataFrame."""

    url: str
    table: str
    rows: int
    columns: list[str]
    # Which quantile is asked for.
    q: float = 0.5

    def __post_init__(self):
        self.connections = []

    def connect(self):
        import psycopg2

        self.connections.append(psycopg2.connect(self.url))
        return self.connections[-1]

    def read(self):
        """The rows, by COPY: several times as fast as pandas.read_sql."""
        import io

        import pandas

        columns = ", ".join(self.columns)
        with self.connect() as connection, connection.cursor() as cursor:
            buffer = io.BytesIO()
            cursor.copy_expert(f"COPY (SELECT {columns} FROM {self.table}) TO STDOUT (FORMAT csv, HEADER)", buffer)
        buffer.seek(0)
        self.frame = pandas.read_csv(buffer, true_values=["t"], false_values=["f"])

    @cached_property
    def frame(self):
        self.read()
        return self.__dict__["frame"]


@dataclass(frozen=True)
class Contender:
    """One documented way to get one answer."""

    name: str  # unique; the row of the table
    task: str  # mean, counts, quantile, slope, unbounded
    privacy: str  # pure, approximate (with DELTA), none
    neighbours: str
    reads: str  # sql: it sends a query; frame: it takes a DataFrame
    # make(source, epsilon, many) is a function without arguments whose every call gives releases, at most `many`
    # of them: a list of numbers, or of lists of 64 counts. What it does itself is set-up, and looks at no row.
    make: Callable
    # How many releases at once pay off where only their error is asked for.
    batch: int = 1
    # How many of them are enough.
    releases: int = 10_000
    # How much longer than others its releases are waited for.
    patience: int = 1
    # Whether the time of its answer is asked for.
    timed: bool = True
    # Whether there is an error to measure.
    accuracy: bool = True


def contenders() -> list[Contender]:
    return [each for library in LIBRARIES for each in importlib.import_module(f"peer_{library}").CONTENDERS]

