"""Derives rand_hie.csv from the file that statsmodels ships: see README.md.

usage: python3 derive.py randhie.csv > rand_hie.csv
"""

import csv
import sys

# Our name: the original's name, and the decimals kept where it has more than a reader needs.
COLUMNS = {
    "person": ("zper", None),
    "year": ("year", None),
    "site": ("site", None),
    "age": ("xage", 1),
    "female": ("female", None),
    "education": ("educdec", 1),
    "income": ("income", 0),
    "family_size": ("num", None),
    "coinsurance": ("coins", None),
    "doctor_visits": ("mdvis", None),
    "hospital_admissions": ("totadm", None),
    "medical_spending": ("meddol", 2),
    "chronic_disease_index": ("disea", 1),
    "mental_health_index": ("mhi", 1),
    "general_health_index": ("ghindx", None),
}


def value(row, original, decimals):
    text = row[original]
    return text if decimals is None or not text else f"{float(text):.{decimals}f}"


writer = csv.writer(sys.stdout, lineterminator="\n")
writer.writerow(COLUMNS)
with open(sys.argv[1], newline="") as source:
    for row in csv.DictReader(source):
        writer.writerow(value(row, *column) for column in COLUMNS.values())
