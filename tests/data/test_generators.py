"""The two made-up tables: seeded, and as their descriptions say."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from components.data import cancer, hospitals
from components.data.declarations import Cancer, Hospitals

PUBLIC_FILE = Path(__file__).parents[2].parent / "shared" / "data" / "global_cancer_patients_2015_2024.csv"


@pytest.fixture(scope="module")
def patients() -> pd.DataFrame:
    return hospitals.generate(6000, 5, 7)


def test_the_same_seed_makes_the_same_table(patients: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(hospitals.generate(6000, 5, 7), patients)
    assert not hospitals.generate(6000, 5, 8).equals(patients)
    digests = [cancer.read(Cancer(rows=100, generator_seed=seed), Path()).inputs[0].sha256 for seed in (1, 1, 2)]
    assert digests[0] == digests[1] != digests[2]


def test_headers_are_known_without_the_rows(patients: pd.DataFrame) -> None:
    assert hospitals.header(Hospitals(), Path()).names == tuple(patients.columns)
    assert cancer.header(Cancer(rows=5), Path()).names == tuple(cancer.generate(5, 0).columns)


def test_hospitals_differ_in_size(patients: pd.DataFrame) -> None:
    sizes = patients["hospital"].value_counts()
    assert len(sizes) == 5
    assert sizes.max() > 3 * sizes.min()
    assert hospitals.generate(2000, 12, 0)["hospital"].nunique() == 12


def test_people_are_plainly_made_up(patients: pd.DataFrame) -> None:
    assert patients["patient_id"].str.fullmatch(r"SYN-\d{6}").all()
    assert patients["patient_id"].is_unique
    assert patients["name"].is_unique
    assert patients["zip"].str.fullmatch(r"0\d{4}").all()


def test_ages_follow_from_birth_and_admission(patients: pd.DataFrame) -> None:
    birth, admission = patients["birth_date"], patients["admission"]
    had_birthday = (admission.dt.month * 100 + admission.dt.day) >= (birth.dt.month * 100 + birth.dt.day)
    assert (admission.dt.year - birth.dt.year - ~had_birthday == patients["age"]).all()


def test_blanks_and_rare_diagnoses_occur(patients: pd.DataFrame) -> None:
    blank = patients.isna().mean()
    assert set(blank[blank > 0].index) == {"smoking", "weight_kg", "systolic"}
    assert 0 < patients["diagnosis"].value_counts().min() < 12


def test_readmission_can_be_learned_but_not_fully(patients: pd.DataFrame) -> None:
    from sklearn.ensemble import RandomForestClassifier

    columns = ["age", "prior_admissions", "stay_days", "asa_class", "diagnosis", "zip", "hospital", "emergency"]
    features = pd.get_dummies(patients[columns]).to_numpy(dtype="float64")
    target = patients["readmitted"].to_numpy()
    forest = RandomForestClassifier(40, min_samples_leaf=5, random_state=0).fit(features[:4000], target[:4000])
    accuracy = forest.score(features[4000:], target[4000:])
    constant = (target[4000:] == "no").mean()
    assert 0.6 < constant < 0.7
    assert constant + 0.1 < accuracy < 0.86


def identity(frame: pd.DataFrame) -> np.ndarray:
    """Reckon the score by its definition in floats, apart from the generator's whole numbers."""
    score = sum(weight / 100 * frame[name] for name, weight in cancer.WEIGHTS.items())
    return np.round(score + (100_000 - frame["Treatment_Cost_USD"]) / 50_000, 2).to_numpy()


def test_the_cancer_score_is_linear_in_every_row() -> None:
    frame = cancer.generate(50_000, 7)
    np.testing.assert_array_equal(frame["Target_Severity_Score"], identity(frame))
    assert cancer.WEIGHTS == {
        "Genetic_Risk": 20,
        "Air_Pollution": 15,
        "Alcohol_Use": 15,
        "Smoking": 20,
        "Obesity_Level": 10,
    }


def test_cancer_columns_are_as_described() -> None:
    frame = cancer.generate(50_000, 7)
    assert frame["Patient_ID"].iloc[[0, -1]].tolist() == ["PT0000000", "PT0049999"]
    assert (frame["Age"].min(), frame["Age"].max()) == (20, 89)
    assert (frame["Year"].min(), frame["Year"].max()) == (2015, 2024)
    counts = {"Gender": 3, "Country_Region": 10, "Cancer_Type": 8, "Cancer_Stage": 5}
    for name, count in counts.items():
        shares = frame[name].value_counts(normalize=True)
        assert len(shares) == count
        assert shares.min() > 0.9 / count
    for name in (*cancer.WEIGHTS, "Survival_Years"):
        assert (frame[name].min(), frame[name].max()) == (0, 10)
        assert frame[name].mean() == pytest.approx(5, abs=0.06)
    assert frame["Treatment_Cost_USD"].mean() == pytest.approx(52_500, abs=500)
    numeric = frame.select_dtypes("number").drop(columns="Target_Severity_Score")
    correlations = numeric.corr().to_numpy() - np.eye(numeric.shape[1])
    assert np.abs(correlations).max() < 0.025
    target = frame["Target_Severity_Score"]
    assert np.abs(target - target.median()).mean() == pytest.approx(0.967, abs=0.01)


@pytest.mark.skipif(not PUBLIC_FILE.exists(), reason="the public file is not at hand")
def test_the_score_agrees_with_the_public_file() -> None:
    public = pd.read_csv(PUBLIC_FILE)
    assert tuple(public.columns) == cancer.COLUMNS
    tenths = {name: np.rint(public[name] * 10).astype("int64").to_numpy() for name in cancer.WEIGHTS}
    cents = np.rint(public["Treatment_Cost_USD"] * 100).astype("int64").to_numpy()
    np.testing.assert_array_equal(cancer.severity(tenths, cents), public["Target_Severity_Score"])
