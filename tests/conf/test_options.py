"""Every option that ships: it writes out what its declaration knows, it composes, and it is without fault."""

from pathlib import Path
from typing import Any, get_args

import pytest
import yaml

from components.registry import KINDS, declaration, load
from runner.compose import compose_run
from runner.joined import SECTIONS
from schemas.base import Contract
from schemas.dataset import DatasetSchema
from schemas.run_config import RunConfig

CONF = Path(__file__).resolve().parents[2] / "conf"
SITES = ["model=logistic", "anonymization=none"]
NEEDS = {
    "dataset/adult": ["dataset.source.path=adult.csv"],
    "dataset/adult_six": ["dataset.source.path=adult.csv", "dataset.hierarchies=hierarchies"],
    "dataset/cancer_file": ["model=linear", "dataset.source.path=cancer.csv"],
    "dataset/lendingclub": ["dataset.source.path=loans.csv"],
    "anonymization/pipeline": ["anonymization.steps=[{name: mondrian, columns: [age]}]"],
    "anonymization/transform": ["anonymization.path=transformation.json"],
    "model/callable": ["model.path=score.py"],
    "model/predictions": ["model.path=predictions.csv", "model.column=outcome"],
    "model/sklearn": ["model.estimator=DecisionTreeClassifier"],
    "model/torch": ["model.module=net"],
    "model/linear": ["dataset=diabetes"],
    "model/none": ["anonymization=none"],
    "dataset/diabetes": ["model=linear"],
    "dp/global": [*SITES, "federation=fedavg", "federation/drift=none"],
    "dp/personalized": [*SITES, "federation=fedavg"],
    "dp/record": [*SITES, "federation=fedavg"],
    "federation/fedavg": SITES,
    "federation/fedprox": SITES,
    "federation/scaffold": SITES,
    "experiment/lendingclub": ["dataset.source.path=loans.csv"],
}
"""What an option needs beside itself to be a whole run."""


def options(group: str = "*") -> list[str]:
    """Return what can be chosen; files that begin with _ are parts of others."""
    files = [path for path in CONF.glob(f"{group}/*.yaml") if not path.name.startswith("_")]
    return sorted(path.relative_to(CONF).with_suffix("").as_posix() for path in files)


def content(option: str) -> dict[str, Any]:
    loaded = yaml.safe_load((CONF / f"{option}.yaml").read_text(encoding="utf-8"))
    assert isinstance(loaded, dict)
    chosen = loaded.get("defaults", [])
    if any(isinstance(part, dict) for part in chosen) and "/" in option:  # groups within say the rest
        section, _, name = option.partition("/")
        return compose_run([f"{section}={name}", *needed(option)]).resolved[section]
    parts = [part for part in chosen if isinstance(part, str) and part != "_self_"]
    own = {key: value for key, value in loaded.items() if key != "defaults"} if parts else loaded
    return {key: value for part in parts for key, value in content(f"{Path(option).parent}/{part}").items()} | own


def needed(option: str) -> list[str]:
    return [text for text in NEEDS.get(option, []) if not text.startswith(f"{option.partition('/')[0]}=")]


@pytest.mark.parametrize("option", options())
def test_it_composes_without_fault(option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    group, _, name = option.partition("/")
    composed = compose_run([f"{group}={name}", *needed(option)])
    assert composed.choices[group] == name


@pytest.mark.parametrize("option", [option for section in SECTIONS for option in options(section)])
def test_a_component_writes_out_every_parameter(option: str) -> None:
    section, _, _ = option.partition("/")
    written = content(option)
    assert written.keys() == declaration(section, written["name"]).model_fields.keys()


@pytest.mark.parametrize("option", [option for section in SECTIONS for option in options(section)])
def test_what_is_written_is_what_the_declaration_defaults_to(option: str) -> None:
    section, _, _ = option.partition("/")
    written = content(option)
    fields = declaration(section, written["name"]).model_fields
    for name, value in written.items():
        if not fields[name].is_required() and name != "criteria":
            default = fields[name].default
            assert value == (default.model_dump() if isinstance(default, Contract) else default), name


WITHIN = {
    "federation/clients": ("federation.clients", "components.federation.partitioning.declarations:Partitioning"),
    "federation/rule": ("federation.aggregation.rule", "components.federation.aggregation.declarations:Rule"),
    "dp/personalise": ("dp.personalise", "components.dp.declarations:Personalise"),
    "dp/clipping": ("dp.clipping", "components.dp.declarations:Clipping"),
}
"""Groups within: where they stand, and the union of declarations that they choose from."""


@pytest.mark.parametrize("group", WITHIN)
def test_every_declaration_within_has_an_option_that_writes_it_out(group: str) -> None:
    place, union = WITHIN[group]
    kinds = {kind.model_fields["name"].default: kind for kind in get_args(get_args(load(union))[0])}
    of = {"dp/clipping": ["dp=personalized"]}.get(group, [])
    more = {"tiers": ["dp.personalise.tiers=[{up_to: 1.0, multiplier: null, target_epsilon: 1.0}]"]}
    for name, kind in kinds.items():
        made = compose_run(["experiment=hospitals", *of, f"{group}={name}", *more.get(name, [])]).resolved
        for key in place.split("."):
            made = made[key]
        assert made == kind.model_validate(made).model_dump(), name
        assert made.keys() == kind.model_fields.keys()


@pytest.mark.parametrize("section", SECTIONS)
def test_every_component_has_an_option(section: str) -> None:
    named = {content(option)["name"] for option in options(section)}
    assert named == KINDS[section].keys()


@pytest.mark.parametrize("option", options("dataset"))
def test_a_dataset_writes_out_every_setting(option: str) -> None:
    written = content(option)
    assert written.keys() == DatasetSchema.model_fields.keys()
    for part in ("missing", "split"):
        annotation: Any = DatasetSchema.model_fields[part].annotation
        assert written[part].keys() == annotation.model_fields.keys()
    source = written["source"]
    assert source.keys() == declaration("source", source["name"]).model_fields.keys()


def test_the_frame_is_written_out() -> None:
    written = content("config")
    groups = {next(iter(entry)) for entry in written["defaults"] if isinstance(entry, dict)}
    frame = written.keys() - {"defaults", "hydra"}
    assert frame == RunConfig.model_fields.keys() - groups
    for part in ("output", "encoder", "protection"):
        annotation: Any = RunConfig.model_fields[part].annotation
        assert written[part].keys() == annotation.model_fields.keys()


def test_every_group_that_can_be_absent_has_a_none() -> None:
    assert all(f"{section}/none" in options(section) for section in (*SECTIONS, "experiment"))


def test_the_diabetes_experiment_is_a_regression_on_a_guided_release() -> None:
    config = compose_run(["experiment=diabetes"]).config
    assert (config.dataset.name, config.dataset.task) == ("diabetes", "regression")
    assert (config.model.name, config.anonymization.name) == ("linear", "guided")
