"""The `cancer` source: a synthetic table after the description of "Global Cancer Patients 2015-2024".

Every column is drawn independently and uniformly, and the target is a linear function of six of them. No row is a
person.
"""

from pathlib import Path

import numpy as np
import pandas as pd

from components.data.declarations import Cancer
from components.data.extract import Extract, Header
from components.data.generated import extract
from components.randomness import stream

COLUMNS = (
    "Patient_ID",
    "Age",
    "Gender",
    "Country_Region",
    "Year",
    "Genetic_Risk",
    "Air_Pollution",
    "Alcohol_Use",
    "Smoking",
    "Obesity_Level",
    "Cancer_Type",
    "Cancer_Stage",
    "Treatment_Cost_USD",
    "Survival_Years",
    "Target_Severity_Score",
)
GENDERS = ("Male", "Female", "Other")
COUNTRIES = ("Australia", "UK", "USA", "India", "Germany", "Russia", "Brazil", "Pakistan", "China", "Canada")
TYPES = ("Colon", "Prostate", "Leukemia", "Liver", "Skin", "Cervical", "Breast", "Lung")
STAGES = ("Stage 0", "Stage I", "Stage II", "Stage III", "Stage IV")
WEIGHTS = {"Genetic_Risk": 20, "Air_Pollution": 15, "Alcohol_Use": 15, "Smoking": 20, "Obesity_Level": 10}
"""Per cent of the score that a point of each factor adds."""


def read(params: Cancer, base: Path) -> Extract:
    """Make the table up.

    Parameters
    ----------
    params : Cancer
    base : Path
        Unused: nothing is read.
    """
    del base
    return extract("cancer", generate(params.rows, params.generator_seed))


def header(params: Cancer, base: Path) -> Header:
    """Return names and row count without making the rows."""
    del base
    return Header(COLUMNS, params.rows)


def generate(rows: int, seed: int) -> pd.DataFrame:
    """Draw `rows` made-up patients.

    Uniform factors are drawn as real numbers and then rounded, so the two ends are half as frequent.

    Parameters
    ----------
    rows, seed : int

    Returns
    -------
    pandas.DataFrame
        Columns as in ``COLUMNS``.
    """
    draw = stream(seed, "generate:cancer")
    tenths = {name: np.rint(draw.uniform(0, 100, rows)).astype(np.int64) for name in (*WEIGHTS, "Survival_Years")}
    cents = np.rint(draw.uniform(5_000_00, 100_000_00, rows)).astype(np.int64)
    columns = {
        "Patient_ID": np.char.add("PT", np.char.zfill(np.arange(rows).astype(str), 7)),
        "Age": draw.integers(20, 90, rows),
        "Gender": draw.choice(GENDERS, rows),
        "Country_Region": draw.choice(COUNTRIES, rows),
        "Year": draw.integers(2015, 2025, rows),
        "Cancer_Type": draw.choice(TYPES, rows),
        "Cancer_Stage": draw.choice(STAGES, rows),
        "Treatment_Cost_USD": cents / 100,
        "Target_Severity_Score": severity(tenths, cents),
        **{name: values / 10 for name, values in tenths.items()},
    }
    return pd.DataFrame(columns)[list(COLUMNS)]


def severity(tenths: dict[str, np.ndarray], cents: np.ndarray) -> np.ndarray:
    """Return the score, rounded to two decimals, reckoned in whole numbers so that no row is off by float error.

    score = .20 genetic + .15 air + .15 alcohol + .20 smoking + .10 obesity + (100000 - cost) / 50000

    Parameters
    ----------
    tenths : dict of str to numpy.ndarray of int, shape (n,)
        The factors, in tenths.
    cents : numpy.ndarray of int, shape (n,)
        The cost, in US cents.

    Returns
    -------
    numpy.ndarray of float, shape (n,)
    """
    factors = sum(weight * tenths[name] for name, weight in WEIGHTS.items())
    millionths_by_five = 5_000 * factors + (100_000_00 - cents)  # in 1/5,000,000
    return np.rint(millionths_by_five / 50_000) / 100
