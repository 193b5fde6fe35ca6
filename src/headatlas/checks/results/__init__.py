"""Results of checks: plain data that figures, tables and programs read. Never imports torch."""

from headatlas.checks.results.about import About, MapCheck
from headatlas.checks.results.contrast import ContrastCheck, Contrasted
from headatlas.checks.results.faithfulness import Faithfulness
from headatlas.checks.results.functions import FunctionCheck
from headatlas.checks.results.gating import GatingCheck
from headatlas.checks.results.leaderboard import Leaderboard, Standing
from headatlas.checks.results.probe import ProbeReport
from headatlas.checks.results.task_specificity import TaskSpecificity
from headatlas.maps import Comparison, Mediation
from headatlas.maps.result import Result

__all__ = [
    "RESULTS",
    "About",
    "ContrastCheck",
    "Contrasted",
    "Faithfulness",
    "FunctionCheck",
    "GatingCheck",
    "Leaderboard",
    "MapCheck",
    "ProbeReport",
    "Result",
    "Standing",
    "TaskSpecificity",
]

RESULTS: dict[str, type[Result]] = {
    result.kind: result
    for result in (
        GatingCheck,
        FunctionCheck,
        ProbeReport,
        Faithfulness,
        Leaderboard,
        TaskSpecificity,
        ContrastCheck,
        Comparison,
        Mediation,
    )
}
