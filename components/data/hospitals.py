"""The `hospitals` source: synthetic patients of several hospitals. No row is a person, and no hospital exists.

Whether a patient is readmitted depends on quasi-identifiers (age, zip, hospital) and on clinical columns, with noise:
about a third are, and the best possible prediction is right in about 84 of 100 cases.
"""

from pathlib import Path

import numpy as np
import pandas as pd

from components.data.declarations import Hospitals
from components.data.extract import Extract, Header
from components.data.generated import extract
from components.randomness import stream

COLUMNS = (
    "patient_id",
    "name",
    "birth_date",
    "age",
    "sex",
    "zip",
    "hospital",
    "admission",
    "insurance",
    "emergency",
    "smoking",
    "asa_class",
    "weight_kg",
    "systolic",
    "prior_admissions",
    "stay_days",
    "diagnosis",
    "readmitted",
)
GIVEN = ("Testa", "Probus", "Exempla", "Specimo", "Mocka", "Dummius", "Sampla", "Fictor")
FAMILY = ("Madeup", "Placeholder", "Notreal", "Invented", "Synthetic", "Imaginary")
SITES = (
    "Mockville General",
    "Example Hill",
    "Sampleton Clinic",
    "Placeholder Park",
    "Testbury",
    "Fictional Falls",
    "Dummyford",
    "Specimen Springs",
    "Inventia",
    "Notreal North",
    "Madeup Meadows",
    "Imaginary Isle",
)
ZIPS = tuple(f"0{area}{office:02d}" for area in (10, 12, 21, 23) for office in (1, 5, 12, 19, 30, 47))
DIAGNOSES = {  # share and what it adds to the risk of readmission
    "pneumonia": (0.19, 0.2),
    "fracture": (0.18, -1.2),
    "heart failure": (0.15, 1.5),
    "diabetes": (0.14, 0.4),
    "appendicitis": (0.12, -1.6),
    "COPD": (0.09, 1.2),
    "stroke": (0.07, 0.8),
    "depression": (0.04, 0.3),
    "HIV": (0.012, 0.6),
    "sarcoidosis": (0.005, 0.5),
    "Huntington's disease": (0.002, 0.9),
    "Creutzfeldt-Jakob disease": (0.001, 1.0),
}
SMOKING = ("never", "former", "current")
ASA = ("I", "II", "III", "IV")


def read(params: Hospitals, base: Path) -> Extract:
    """Make the table up.

    Parameters
    ----------
    params : Hospitals
    base : Path
        Unused: nothing is read.
    """
    del base
    return extract("hospitals", generate(params.rows, params.hospitals, params.generator_seed, params.size_ratio))


def header(params: Hospitals, base: Path) -> Header:
    """Return names and row count without making the rows."""
    del base
    return Header(COLUMNS, params.rows)


def generate(rows: int, hospitals: int, seed: int, size_ratio: float = 0.7) -> pd.DataFrame:
    """Draw `rows` made-up patients of `hospitals` made-up hospitals.

    Parameters
    ----------
    rows, seed : int
    hospitals : int
        At most 12.
    size_ratio : float
        Size of each, on average, over that of the one before.

    Returns
    -------
    pandas.DataFrame
        Columns as in ``COLUMNS``; blanks in smoking, weight_kg and systolic.
    """
    draw = stream(seed, "generate:hospitals")
    frame = pd.DataFrame(_people(draw, rows, size_ratio ** np.arange(hospitals)) | _stays(draw, rows))
    frame["asa_class"] = np.take(ASA, np.digitize(frame["age"] / 30 + draw.normal(0, 1, rows), [1.1, 2.2, 3.4]))
    frame["readmitted"] = _readmitted(draw, frame)
    for name, share in {"smoking": 0.05, "weight_kg": 0.04, "systolic": 0.03}.items():
        frame[name] = frame[name].mask(draw.random(rows) < share)
    return frame[list(COLUMNS)]


def _people(draw: np.random.Generator, rows: int, sizes: np.ndarray) -> dict[str, object]:
    site = draw.choice(len(sizes), rows, p=sizes / sizes.sum())
    near = (site * 2 + draw.integers(0, 5, rows)) % len(ZIPS)  # most patients live around their hospital
    far = draw.integers(0, len(ZIPS), rows)
    age = np.clip(np.rint(95 - draw.gamma(2.2, 16, rows)), 18, 95).astype(np.int64)
    admission = np.datetime64("2023-01-01", "D") + draw.integers(0, 731, rows)
    months = admission.astype("datetime64[M]")
    day_of_month = admission - months
    birth = (months - 12 * age).astype("datetime64[D]") + day_of_month - draw.integers(1, 365, rows)
    serial = np.char.zfill(np.arange(1, rows + 1).astype(str), 6)
    given, family = draw.choice(GIVEN, rows), draw.choice(FAMILY, rows)
    return {
        "patient_id": np.char.add("SYN-", serial),
        "name": np.char.add(np.char.add(given, " "), np.char.add(np.char.add(family, "-"), serial)),
        "birth_date": birth,
        "age": age,
        "sex": draw.choice(("female", "male", "diverse"), rows, p=(0.505, 0.485, 0.01)),
        "zip": np.take(ZIPS, np.where(draw.random(rows) < 0.75, near, far)),
        "hospital": np.take(SITES, site),
        "admission": admission,
    }


def _stays(draw: np.random.Generator, rows: int) -> dict[str, object]:
    shares = np.array([share for share, _ in DIAGNOSES.values()])
    return {
        "insurance": draw.choice(("public", "private", "self-pay", "charity"), rows, p=(0.62, 0.26, 0.09, 0.03)),
        "emergency": draw.random(rows) < 0.45,
        "smoking": draw.choice(SMOKING, rows, p=(0.5, 0.28, 0.22)),
        "weight_kg": np.clip(np.round(draw.normal(78, 16, rows), 1), 35, 180),
        "systolic": pd.array(np.clip(np.rint(draw.normal(132, 18, rows)), 80, 220).astype(np.int64), "Int64"),
        "prior_admissions": np.minimum(draw.poisson(draw.gamma(1.2, 1.1, rows)), 12),
        "stay_days": np.clip(np.rint(draw.gamma(1.8, 3.2, rows)), 1, 60).astype(np.int64),
        "diagnosis": draw.choice(list(DIAGNOSES), rows, p=shares / shares.sum()),
    }


def _readmitted(draw: np.random.Generator, frame: pd.DataFrame) -> np.ndarray:
    """Draw the target from a logistic model of the other columns."""
    effect = {name: added for name, (_, added) in DIAGNOSES.items()}
    score = (
        0.07 * (frame["age"] - 60)
        + 0.7 * np.minimum(frame["prior_admissions"], 4)
        + 0.6 * frame["asa_class"].map({name: level for level, name in enumerate(ASA)})
        + frame["diagnosis"].map(effect)
        + 0.6 * frame["smoking"].map({name: level for level, name in enumerate(SMOKING)})
        + 0.6 * frame["emergency"]
        + 0.05 * np.minimum(frame["stay_days"], 20)
        + 0.02 * np.maximum(frame["systolic"].astype("float64") - 140, 0)
        + 0.8 * (frame["zip"] < "0200")
        + 0.6 * (frame["hospital"] == SITES[0])
    )
    chance = 1 / (1 + np.exp(-1.1 * (score - 5.2)))
    return np.where(draw.random(len(frame)) < chance, "yes", "no")
