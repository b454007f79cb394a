"""Means over seeds, and how sure one can be of them: Student's t, 95 %."""

import math
from collections.abc import Sequence
from typing import Final

import msgspec

_DIGITS: Final = 6
#: The 97.5 % quantiles of Student's distribution for 1, 2, … degrees of freedom.
_QUANTILES: Final = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
    2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip
#: That of the normal distribution.
_NORMAL: Final = 1.959964


class MeanOverSeeds(msgspec.Struct, frozen=True, kw_only=True):
    """A mean over seeds.

    Attributes:
        mean: the mean.
        low: where the 95 % interval begins; None with one seed, of which nothing follows.
        high: where it ends.
    """

    mean: float
    low: float | None = None
    high: float | None = None

    @property
    def margin(self) -> float | None:
        """Half the interval."""
        return None if self.high is None else self.high - self.mean

    @property
    def differs_from_zero(self) -> bool:
        """Whether 0 is outside the interval; with one seed never."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)


def estimate(values: Sequence[float]) -> MeanOverSeeds:
    """The mean of at least one number, with its interval if there are several."""
    count = len(values)
    mean = math.fsum(values) / count
    if count == 1:
        return MeanOverSeeds(mean=round(mean, _DIGITS))
    variance = math.fsum((value - mean) ** 2 for value in values) / (count - 1)
    half = quantile(count - 1) * math.sqrt(variance / count)
    return MeanOverSeeds(
        mean=round(mean, _DIGITS), low=round(mean - half, _DIGITS), high=round(mean + half, _DIGITS)
    )


def quantile(freedom: int) -> float:
    """How many standard errors a 95 % interval reaches to each side."""
    if freedom <= len(_QUANTILES):
        return _QUANTILES[freedom - 1]
    cube = _NORMAL**3
    return _NORMAL + (cube + _NORMAL) / (4 * freedom)  # the expansion's next term is below 0.001
