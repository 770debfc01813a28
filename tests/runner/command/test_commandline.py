import pytest

from runner.commandline import read
from schemas.faults import ConfigurationError


def refusal(*arguments: str) -> str:
    with pytest.raises(ConfigurationError) as caught:
        read(arguments)
    return str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "verb", "overrides"),
    [
        ([], "run", ()),
        (["model=tree", "~risk"], "run", ("model=tree", "~risk")),
        (["plan", "model=tree"], "plan", ("model=tree",)),
        (["list"], "list", ()),
        (["plan", "a=1", "--config-dir", "x", "b=2"], "plan", ("a=1", "b=2")),
        (["-m", "a=1,2"], "run", ("a=1,2",)),
        (["a=1", "-m", "b=2"], "run", ("a=1", "b=2")),
    ],
)
def test_a_verb_comes_first_and_the_rest_is_hydras(arguments: list[str], verb: str, overrides: tuple[str, ...]) -> None:
    command = read(arguments)
    assert (command.verb, command.overrides) == (verb, overrides)


@pytest.mark.parametrize(("typed", "meant"), [("plam", "plan"), ("lst", "list"), ("help", "--help")])
def test_an_unknown_verb_is_told_with_the_nearest(typed: str, meant: str) -> None:
    assert f"did you mean {meant}?" in refusal(typed)


@pytest.mark.parametrize("arguments", [["model=tree", "plan"], ["--config-dir", "x", "plan"], ["plan", "list"]])
def test_a_verb_further_back_is_refused(arguments: list[str]) -> None:
    assert "put the verb first" in refusal(*arguments)


@pytest.mark.parametrize("flags", [["--cfg", "job", "-m"], ["--info", "all", "--run"], ["--resolve"], ["-p", "model"]])
def test_flags_that_exclude_each_other_are_refused(flags: list[str]) -> None:
    assert refusal(*flags)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--multirum"], "did you mean --multirun?"),
        (["--cfg", "jobb"], "invalid choice"),
        (["--cfg"], "expected one argument"),
        (["--experimental-rerun", "x.pickle"], "no such flag"),
        (["--config-path", "x"], "no such flag"),
    ],
)
def test_a_faulty_flag_is_told_in_one_sentence(arguments: list[str], said: str) -> None:
    assert said in refusal(*arguments)
    assert "\n" not in refusal(*arguments)


def test_info_does_not_swallow_an_override() -> None:
    command = read(["--info", "model=tree"])
    assert (command.flags.info, command.overrides) == ("all", ("model=tree",))
    assert read(["-i", "defaults"]).flags.info == "defaults"
