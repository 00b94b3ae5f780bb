"""The settings that the paper's text gives are the experiments' own (appendix A.3, section 6)."""

from wherein.experiments.figures.fig1 import OPERATIONS_PER_TRY, Fig1Settings
from wherein.experiments.figures.fig3 import Fig3Settings
from wherein.experiments.figures.fig4 import Fig4Settings
from wherein.experiments.figures.fig5 import Fig5Settings


def test_figure_1() -> None:
    settings = Fig1Settings()
    schedule = settings.schedule
    assert (settings.images, settings.goal) == (10, 0.9)
    assert (schedule.sigma, settings.affine_sigma, schedule.step, schedule.iterations) == (5, 10, 0.005, 50)
    assert schedule.still == 5  # "for the first 5 iterations … only the background is updated"
    assert OPERATIONS_PER_TRY == 2  # "one interpolation and one convolution"


def test_figure_3() -> None:
    assert Fig3Settings().size == (512, 384)
    assert max(Fig3Settings().angles) == 30 and 22.5 in Fig3Settings().angles


def test_figure_4() -> None:
    settings = Fig4Settings()
    assert (settings.spikes, settings.size, settings.sigma0) == (5, (61, 81), 3)
    assert settings.step == 0.2  # "we reduce the step sizes by multiplying a factor of 0.2"


def test_figure_5() -> None:
    settings = Fig5Settings()
    assert (settings.sigma, settings.iterations, settings.images) == (10, 50, 10)
    assert settings.halvings * settings.iterations == 250  # "terminates after a total of 250 iterations"
    assert settings.schedule.step * settings.sigma == 0.05  # "starting at sigma = 10 and step size 0.05"
    assert (settings.schedule.sigma, settings.schedule.scales) == (10, 5)
    assert (settings.schedule.coarse, settings.schedule.rest) == (1.25, 0.01)  # as docs/experiments.md says
