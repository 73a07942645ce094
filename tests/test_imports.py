"""What is imported when: the core stays light, heavy parts wait until they are used."""

import pytest

from tests.programs import modules_after
from zeroevidence import Options, evaluate
from zeroevidence.evaluation.results import save_results


def test_importing_the_package_imports_nothing_heavy():
    heavy = {"numpy", "scipy", "sklearn", "polars", "torch", "matplotlib", "jinja2", "rich", "click"}
    assert not heavy & modules_after("import zeroevidence")


def test_evaluating_arrays_needs_no_file_reader_nor_optional_part():
    code = "import zeroevidence as ze; ze.evaluate(ze.Scores([1.0, 2.0], [0.0, 1.5]))"
    assert not {"torch", "matplotlib", "jinja2", "polars", "rich", "click"} & modules_after(code)


def test_a_list_of_trials_is_evaluated_without_scipy_stats(tmp_path):
    """It takes longer to import than such a list to evaluate."""
    lines = [
        f"s{i} s{j}-u{k} {(i == j) + 0.1 * ((7 * i + 3 * j + k) % 10)} {'non' * (i != j)}target"
        for k in range(3)
        for i in range(9)
        for j in range(i, 9, k + 1)
    ]
    scores = tmp_path / "list.scores"
    scores.write_text("\n".join(lines))
    modules = modules_after(
        f"from zeroevidence.cli import cli; cli(['evaluate', {str(scores)!r}], standalone_mode=False)"
    )
    assert "zeroevidence.uncertainty.lists" in modules
    assert "scipy.stats" not in modules


def test_garbage_is_collected_after_a_command_was_imported():
    code = "from zeroevidence.cli import cli; cli(['cite'], standalone_mode=False); import gc; print(gc.isenabled())"
    assert {"True", "zeroevidence.cli.commands.cite"} <= modules_after(code)


def test_a_figure_of_a_finished_result_needs_no_attacker(tmp_path):
    pytest.importorskip("matplotlib")
    result, figure = str(tmp_path / "one.json"), str(tmp_path / "ece.svg")
    save_results([evaluate([2.0, 3.0, 1.5], [0.0, 1.0, 1.7], options=Options(intervals=0, null=0))], result)
    arguments = ["plot", "ece", result, "-o", figure]
    modules = modules_after(f"from zeroevidence.cli import cli; cli({arguments}, standalone_mode=False)")
    assert "matplotlib" in modules
    assert not {"sklearn", "zeroevidence.auditing"} & modules


def test_the_page_anonymises_without_attackers():
    assert not {"sklearn", "torch", "zeroevidence.auditing"} & modules_after("import zeroevidence.web.audits")
