import subprocess
import sys

import pytest

from bench.guided import MEMORY_LIMIT, TIME_LIMIT, Ratios, hold, memory_ratio, time_ratio


def test_costs_little_more_than_a_plain_tree_fit():
    tries = [time_ratio(30_000, repeats=2)[0] for _ in range(2)]
    assert min(tries) <= TIME_LIMIT, tries


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is read as Linux tells it")
def test_needs_little_more_memory_than_the_table():
    assert memory_ratio(100_000) <= MEMORY_LIMIT


def test_a_ratio_over_its_limit_does_not_hold():
    good = Ratios(100_000, 1.2, 1.0, 1.5)
    assert hold([good])
    assert not hold([good, Ratios(100_000, 1.6, 1.0, 1.5)])
    assert not hold([good, Ratios(100_000, 1.2, 1.0, 3.1)])


def test_light_declarations_import_no_heavy_library():
    code = (
        "import sys, components.anonymization, components.anonymization.declarations\n"
        "print(sorted({'numpy', 'pandas', 'sklearn', 'pandera', 'pyarrow'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_exported_names_exist():
    import components.anonymization as package

    assert all(getattr(package, name) is not None for name in package.__all__)
    with pytest.raises(AttributeError, match="no attribute 'absent'"):
        _ = package.absent
