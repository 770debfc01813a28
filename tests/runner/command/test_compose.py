from pathlib import Path
from typing import Any

import pytest

from components.anonymization.declarations import Guided
from components.models.declarations import Tree
from runner.compose import compose_run
from schemas.faults import ConfigurationError


def test_a_run_is_typed_through_and_through(mine: Any, tmp_path: Path) -> None:
    composed = mine.compose("model=tree", "anonymization.k=7")
    assert isinstance(composed.config.model, Tree)
    assert isinstance(composed.config.anonymization, Guided)
    assert [getattr(criterion, "k", None) for criterion in composed.config.anonymization.criteria] == [7]
    assert composed.config.name == "toy"
    assert composed.config.dataset.source.delimiter == ","
    assert composed.choices["model"] == "tree"
    assert composed.base == tmp_path
    assert composed.overrides == ("dataset=toy", "model=tree", "anonymization.k=7")
    assert "k: ${anonymization.k}" in composed.as_written
    assert composed.resolved["anonymization"]["criteria"] == [{"name": "k", "k": 7}]


def test_every_setting_has_a_source(mine: Any) -> None:
    composed = mine.compose("model=tree", "anonymization.k=7")
    assert composed.sources["anonymization.k"] == "anonymization.k=7"
    assert composed.sources["anonymization.missing"] == "conf/anonymization/guided.yaml"
    assert composed.sources["dataset.columns.age.min"] == "options/dataset/toy.yaml"
    assert composed.sources["seed"] == "conf/config.yaml"


def test_files_are_listed_with_their_digests(mine: Any) -> None:
    files = {file.path: file.sha256 for file in mine.compose("model=tree").files}
    assert {"conf/config.yaml", "conf/model/tree.yaml", "options/dataset/toy.yaml"} <= files.keys()
    assert all(len(digest) == 64 for digest in files.values())
    assert not any("hydra" in path for path in files)


@pytest.mark.parametrize("typed", ["five", "2.5", "0", "-1", "1e3", "true", "'5'", "5.0", "null", "[5]"])
def test_k_is_a_whole_number_and_nothing_else(mine: Any, typed: str) -> None:
    fault = mine.fault(f"anonymization.k={typed}")
    assert fault.place == "anonymization.k"
    assert fault.allowed == "must be a whole number >= 2"
    assert fault.source == f"anonymization.k={typed}"


def test_a_faulty_value_is_told_once_however_often_it_is_referred_to(mine: Any) -> None:
    assert mine.fault("seed=five", "anonymization.k=${seed}").place == "seed"


def test_two_faults_of_the_command_line_and_one_of_a_file_are_told_together(mine: Any) -> None:
    mine.vary("role: sensitive", "role: secret")
    faults = {fault.place: fault for fault in mine.faults("annon.k=3", "seed=five")}
    assert faults.keys() == {"annon.k", "seed", "dataset.columns.ward.role"}
    assert "anonymization.k" in faults["annon.k"].remedy
    assert faults["dataset.columns.ward.role"].source == "options/dataset/toy.yaml"


def test_faults_of_every_kind_are_told_together(mine: Any) -> None:
    mine.vary("target: cured", "target: curd")
    faults = {fault.place: fault for fault in mine.faults("x=[âge]", "model=tre", "anonymization.kk=3", "seed=-1")}
    assert faults.keys() == {"x", "model", "anonymization.kk", "seed", "dataset.target"}


def test_all_missing_values_are_told_with_their_files(mine: Any) -> None:
    mine.vary("path: toy.csv", 'path: "???", delimiter: "???"')
    faults = mine.faults("model=sklearn")
    assert {(fault.place, fault.source) for fault in faults} == {
        ("dataset.source.path", "options/dataset/toy.yaml"),
        ("dataset.source.delimiter", "options/dataset/toy.yaml"),
        ("model.estimator", "conf/model/sklearn.yaml"),
    }
    assert all("must be given" in fault.problem for fault in faults)


@pytest.mark.parametrize("sign", ["", "+", "++"])
def test_no_sign_makes_an_unknown_key_known(mine: Any, sign: str) -> None:
    assert "no such key" in mine.fault(f"{sign}typo=1").problem


@pytest.mark.parametrize("sign", ["", "+", "++"])
def test_a_key_that_the_declaration_knows_may_be_set_though_no_file_writes_it(mine: Any, sign: str) -> None:
    composed = mine.compose(f"{sign}dataset.columns.age.public=true", f"{sign}dataset.split.test=0.4")
    assert composed.config.dataset.column("age").public
    assert composed.config.dataset.split.test == 0.4


def test_free_parameters_may_be_set(mine: Any) -> None:
    composed = mine.compose("model=sklearn", "model.estimator=DecisionTreeClassifier", "model.params.max_depth=3")
    assert composed.config.model.params == {"max_depth": 3}


def test_a_mistyped_column_is_not_taken_for_a_new_one(mine: Any) -> None:
    fault = mine.fault("dataset.columns.agee.public=true")
    assert fault.remedy == "did you mean dataset.columns.age.public?"


def test_a_column_may_be_added_on_purpose(mine: Any) -> None:
    composed = mine.compose("+dataset.columns.plz.dtype=text", "+dataset.columns.plz.role=drop")
    assert composed.config.dataset.column("plz").role == "drop"


@pytest.mark.parametrize("override", ["~dataset", "~seed", "~model.min_samples_leaf.x", "~sed"])
def test_what_a_run_needs_can_not_be_removed(mine: Any, override: str) -> None:
    assert mine.fault(override, dataset="").source == override


def test_removing_an_optional_group_is_choosing_none(mine: Any) -> None:
    composed = mine.compose("~model", "~anonymization")
    assert composed.config.model.name == composed.config.anonymization.name == "none"
    assert composed.choices["model"] == "none"


def test_an_unknown_option_is_told_with_the_nearest(mine: Any) -> None:
    fault = mine.fault(dataset="dataset=adlut")
    assert fault.remedy == "did you mean dataset=adult?"
    assert "toy" in fault.allowed


def test_nothing_is_said_about_the_inside_of_an_option_that_was_not_meant(mine: Any) -> None:
    faults = mine.faults("dataset.source.path=x", "dataset.nonsense=1", dataset="dataset=adlut")
    assert [fault.place for fault in faults] == ["dataset"]


@pytest.mark.parametrize("override", ["dataset=../model/tree", "dataset=null", "dataset=5", "dataset=/etc/passwd"])
def test_an_option_is_a_name_in_its_group(mine: Any, override: str) -> None:
    assert "no option" in mine.fault(dataset=override).problem


def test_several_values_need_a_sweep(mine: Any) -> None:
    fault = mine.fault("seed=1,2")
    assert "-m" in fault.remedy
    assert """'seed="1,2"'""" in fault.remedy


def test_a_group_without_default_is_added(mine: Any) -> None:
    mine.write("site/berlin", "# @package _global_\nseed: 4\n")
    assert mine.compose("+site=berlin").config.seed == 4
    assert mine.fault("site=berlin").remedy == "+site=berlin"
    assert mine.fault("+model=tree").remedy == "model=tree"


@pytest.mark.parametrize(
    "text",
    ["- a\n", "just text\n", "name: tree\n\tmax_depth: 3", b"name: \xff\xfe", "", "name: tree\nname: tree\n", "a: [\n"],
)
def test_a_broken_file_is_told_beside_the_other_faults(mine: Any, text: str | bytes) -> None:
    mine.write("model/broken", text)
    faults = mine.faults("model=broken", "seed=five")
    assert [fault.place for fault in faults if fault.place == "seed"] == ["seed"]
    assert any("model" in f"{fault.place}{fault.source}" for fault in faults)
    assert len(faults) == 2


@pytest.mark.parametrize(
    "text",
    [
        "defaults:\n  a: b\nname: tree\n",
        "defaults: [nowhere, _self_]\nname: tree\n",
        "defaults: [broken]\nname: tree\n",
    ],
)
def test_a_broken_defaults_list_is_a_fault_and_no_traceback(mine: Any, text: str) -> None:
    mine.write("model/broken", text)
    fault = mine.fault("model=broken")
    assert "model" in f"{fault.place}{fault.source}"


def test_an_experiment_that_chooses_an_unknown_option_names_the_nearest(mine: Any) -> None:
    mine.write("experiment/mine", "# @package _global_\ndefaults:\n  - override /dataset: adlut\n")
    fault = mine.fault("experiment=mine", dataset="")
    assert (fault.place, fault.remedy) == ("dataset", "did you mean dataset=adult?")


def test_an_experiment_wins_over_the_defaults(mine: Any) -> None:
    mine.write("experiment/mine", "# @package _global_\ndefaults:\n  - override /model: tree\nseed: 5\n")
    composed = mine.compose("experiment=mine")
    assert (composed.config.seed, composed.config.model.name) == (5, "tree")
    assert composed.sources["seed"] == "options/experiment/mine.yaml"


def test_our_options_can_not_be_replaced(mine: Any) -> None:
    mine.write("model/tree", "name: forest\n")
    assert "another name" in mine.fault("model=tree").remedy
    assert mine.compose("model=forest").config.model.name == "forest"


@pytest.mark.parametrize("override", ["+model._target_=os.system", "model={_target_: os.system}", "seed={_target_: x}"])
def test_a_target_is_refused_anywhere(mine: Any, override: str) -> None:
    assert any("_target_" in fault.problem for fault in mine.faults(override))


def test_a_target_in_a_file_is_refused(mine: Any) -> None:
    mine.vary("synthetic: true", "synthetic: true\n_target_: os.system")
    assert "_target_" in mine.fault().problem


def test_an_unknown_component_is_told_with_the_nearest(mine: Any) -> None:
    fault = mine.fault("model.name=tre", "model=tree")
    assert (fault.place, fault.remedy) == ("model.name", "did you mean tree?")


def test_an_unknown_source_is_told(mine: Any) -> None:
    mine.vary("name: csv", "name: csvv")
    assert mine.fault().place == "dataset.source.name"


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("seed=${nowhere.k}", "leads nowhere"),
        ("seed=${anonymization.kk}", "did you mean anonymization.k?"),
        ("debug=${oc.env:SURELY_NOT_SET}", "set that environment variable"),
        ("name=${nosuch:3}", "Unsupported interpolation type nosuch"),
        ("name=${name}", "leads back to itself"),
    ],
)
def test_an_interpolation_that_can_not_be_resolved_is_told(mine: Any, override: str, said: str) -> None:
    assert said in str(mine.fault(override))


def test_a_circle_of_interpolations_is_told(mine: Any) -> None:
    assert {fault.place for fault in mine.faults("name=${output.dir}", "output.dir=${name}")} == {"name", "output.dir"}


def test_codes_that_yaml_has_made_numbers_of_are_to_be_quoted(mine: Any) -> None:
    mine.vary("values: [f, m]", "values: [01001, NO, 12:30, ok]")
    fault = mine.fault()
    assert fault.place == "dataset.columns.sex.values"
    assert "quote it" in fault.remedy
    assert "entry 1 is a number (513), entry 2 is a boolean (false), entry 3 is a number (750)" in fault.problem


def test_columns_as_a_list_are_told_by_name(mine: Any) -> None:
    mine.write(
        "dataset/listed",
        "name: listed\nsource: {name: csv, path: x}\ncolumns:\n  - {name: âge, dtype: integer, roel: drop}\n",
    )
    faults = mine.faults("model=none", "anonymization=none", dataset="dataset=listed")
    assert "dataset.columns.âge.roel" in {fault.place for fault in faults}


@pytest.mark.parametrize("name", ["../x", "a/b", ".", "..", "", "x" * 101, "a b", "sweeps", "-x", "é", "a\\b"])
def test_the_name_is_a_plain_folder_name(mine: Any, name: str) -> None:
    mine.write("experiment/named", f"# @package _global_\nname: '{name}'\n")
    assert mine.fault("experiment=named").place == "name"


@pytest.mark.parametrize("date", ["2020-13-01", "01.02.2030", "soon"])
def test_dates_are_iso(mine: Any, date: str) -> None:
    assert "ISO date" in mine.fault(f"protection.retention_date='{date}'").problem


def test_release_models_are_three(mine: Any) -> None:
    assert "public, agreement, enclave" in mine.fault("protection.release_model=secret").allowed
    assert mine.compose("protection.release_model=enclave").config.protection.release_model == "enclave"


def test_an_environment_variable_is_text_until_it_is_decoded(mine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEAST", "5")
    assert "oc.decode" in mine.fault("anonymization.k=${oc.env:LEAST}").remedy
    assert mine.compose('anonymization.k="${oc.decode:${oc.env:LEAST}}"').config.anonymization.k == 5


def test_a_folder_of_options_must_be_one() -> None:
    with pytest.raises(ConfigurationError, match="is no folder"):
        compose_run([], "/nowhere/at/all")


def test_an_unknown_hydra_setting_is_a_fault(mine: Any) -> None:
    assert mine.fault("hydra.jobb.name=x").source == "hydra.jobb.name=x"
    assert "no option" in mine.fault("hydra/launcher=nowhere").problem


def test_hydra_settings_can_be_referred_to(mine: Any) -> None:
    assert mine.compose("name=${hydra:job.name}").config.name == "runner"


def test_a_fault_is_one_sentence_with_place_source_and_what_is_allowed(mine: Any) -> None:
    text = str(mine.fault("anonymization.k=five"))
    assert text == ("anonymization.k (anonymization.k=five): 'five' is not allowed; must be a whole number >= 2")


def test_what_hydra_knows_of_the_overrides_can_be_referred_to(mine: Any) -> None:
    mine.write("experiment/told", "# @package _global_\nprotection: {purpose: '${hydra:job.override_dirname}'}\n")
    composed = mine.compose("experiment=told", "seed=3")
    assert composed.config.protection.purpose == "dataset=toy,experiment=told,seed=3"


def test_composing_leaves_nothing_behind(mine: Any, tmp_path: Path) -> None:
    mine.compose("model=tree")
    assert [path.name for path in tmp_path.iterdir()] == ["options"]
