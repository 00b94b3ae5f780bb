"""Formulations: the paper's cost functions, the cost of channels and the ZNCC objective, one in each file."""

from wherein.formulations.background import WithBackground
from wherein.formulations.base import Formulation, QuadraticFormulation
from wherein.formulations.channel_cost import Channels
from wherein.formulations.correlation import CorrelationObjective
from wherein.formulations.cost_smoothed import CostSmoothed
from wherein.formulations.motion_objective import FieldObjective, MotionObjective
from wherein.formulations.objective import Evaluation, Objective, Tally, Variables
from wherein.formulations.plain import Plain
from wherein.formulations.rigid_spikes import RigidSpikes
from wherein.formulations.robust import Robust
from wherein.formulations.spikes import Spikes

__all__ = [
    "Channels",
    "CorrelationObjective",
    "CostSmoothed",
    "Evaluation",
    "FieldObjective",
    "Formulation",
    "MotionObjective",
    "Objective",
    "Plain",
    "QuadraticFormulation",
    "RigidSpikes",
    "Robust",
    "Spikes",
    "Tally",
    "Variables",
    "WithBackground",
]
