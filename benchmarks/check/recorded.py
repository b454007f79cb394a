"""The recorded counts of instructions; called by `__main__`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Self

import msgspec

from benchmarks.check.cases import Case
from benchmarks.command import BenchError
from benchmarks.environment import environment

FILE = Path(__file__).with_name("recorded.json")


class Recorded(msgspec.Struct):
    """Instructions of a decision, and what else they depend on.

    Attributes:
        python: the version of Python that ran.
        numpy: that of numpy.
        cpu: the processor; another one may take other ways through numpy.
        instructions: of a decision, by case.
    """

    python: str
    numpy: str
    cpu: str
    instructions: dict[str, int]

    @classmethod
    def here(cls, found: Mapping[Case, float]) -> Self:
        """What was counted on this machine."""
        machine = environment()
        counts = {str(case): round(instructions) for case, instructions in found.items()}
        return cls(machine.python, machine.numpy, machine.cpu, counts)

    @classmethod
    def read(cls, file: Path | None = None) -> Self:
        """Read a file.

        Raises:
            BenchError: it is not there, or is none.
        """
        file = file or FILE
        try:
            return msgspec.json.decode(file.read_bytes(), type=cls)
        except (OSError, msgspec.DecodeError) as error:
            raise BenchError(f"{file} has no recorded counts: {error}.") from error

    def write(self, file: Path | None = None) -> None:
        """Write a file."""
        (file or FILE).write_bytes(msgspec.json.format(msgspec.json.encode(self), indent=2) + b"\n")

    def with_those_of(self, other: "Recorded") -> "Recorded":
        """These counts, and those of another run for cases that are not among them."""
        if (self.python, self.numpy, self.cpu) != (other.python, other.numpy, other.cpu):
            return self
        counts = {**other.instructions, **self.instructions}
        return msgspec.structs.replace(self, instructions=counts)

    def must_be_comparable(self, other: "Recorded") -> None:
        """Complain of counts that another Python or numpy made.

        Raises:
            BenchError: they cannot be compared.
        """
        if (self.python, self.numpy) != (other.python, other.numpy):
            raise BenchError(
                f"the counts were recorded with Python {self.python} and numpy {self.numpy}, this "
                f"is Python {other.python} and numpy {other.numpy}; compare with a commit instead "
                "(--base REV), or record them anew from a commit you trust (--record)."
            )
