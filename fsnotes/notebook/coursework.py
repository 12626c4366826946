"""What assignments share: data of one's own, and questions whose answers are judged by cases."""

import copy
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

LARGEST = 1e100  # beyond, squares and products are infinite

__all__ = ["Question", "Wrong", "number", "own_rng", "vector"]


def own_rng(student, seed):
    """A generator of random numbers that belongs to one student of a course with this seed.

    The student is named by the identity by which work is handed in; case and spaces around it do
    not matter.

    Examples
    --------
    >>> from fsnotes.notebook.coursework import own_rng
    >>> rng = own_rng("ab123", 2026)
    >>> rng.bit_generator.state == own_rng(" AB123", 2026).bit_generator.state
    True
    """
    if not isinstance(student, str) or not student.strip():
        raise ValueError(f'STUDENT={student!r}; pass the identity by which you hand in, as "ab123"')
    return np.random.default_rng([seed, zlib.crc32(student.strip().casefold().encode())])


class Wrong(Exception):
    """An answer is not right, and why, in words that help and do not give the answer."""


def number(answer, what="the answer"):
    """An answer as a finite number, or raise `Wrong`."""
    found = _array(answer, what)
    if found.size != 1:
        raise Wrong(f"{what} should be a number, and has the shape {found.shape}")
    return float(found.reshape(()))


def vector(answer, size, what="the answer"):
    """An answer as a vector of finite numbers, or raise `Wrong`."""
    found = np.squeeze(_array(answer, what))
    if found.size != size or found.ndim > 1:
        shape = np.shape(answer)
        raise Wrong(f"{what} should be a vector of {size} numbers, and has the shape {shape}")
    return found.reshape(size)


def _array(answer, what):
    if answer is None:
        raise Wrong(f"{what} is None; does the function return it?")
    try:
        found = np.asarray(answer, dtype=float)
    except (TypeError, ValueError):
        raise Wrong(f"{what} should be made of numbers") from None
    if not (abs(found) <= LARGEST).all():
        raise Wrong(f"{what} is not finite, or larger than {LARGEST:g}")
    return found


@dataclass(frozen=True)
class Question:
    """A function to be written, and the cases by which it is judged.

    Attributes
    ----------
    name : str
        Of the function.
    parts : dict
        Points by the name of a part. A part earns its points if all its cases are right.
    cases : callable
        From a generator of random numbers, pairs of a part and the arguments, a dict. They are
        passed in its order, since whoever answers may rename them.
    truth : callable
        From the arguments, what is right.
    judge : callable
        Of an answer, what is right, and the arguments, by name: raises `Wrong` with a hint.
    """

    name: str
    parts: dict
    cases: Callable[[np.random.Generator], Iterator[tuple[str, dict]]]
    truth: Callable
    judge: Callable

    @property
    def worth(self):
        return sum(self.parts.values())

    def drawn(self, seed):
        """Cases, pairs of a part and its arguments, the same for the same seed."""
        found = list(self.cases(np.random.default_rng([seed, zlib.crc32(self.name.encode())])))
        strange = {part for part, _ in found} ^ set(self.parts)
        if strange:
            raise ValueError(f"{self.name}: parts without cases, or cases without parts: {strange}")
        return found

    def marks(self, drawn, truths, answers):
        """Points of each part, and a hint for each that is not right.

        For each case drawn there is what is right, and an answer, or a `Wrong` where there is none.
        """
        hints = {}
        for (part, arguments), true, answer in zip(drawn, truths, answers, strict=True):
            if part in hints:
                continue
            try:
                if isinstance(answer, Wrong):
                    raise answer
                self.judge(answer, true, **arguments)
            except Wrong as wrong:
                hints[part] = str(wrong)
            except Exception:
                # of a strange form, which is not for the judge to foresee
                hints[part] = "the answer has not the form that was asked for"
        return {p: 0 if p in hints else worth for p, worth in self.parts.items()}, hints

    def score(self, function, seed=0):
        """Points of a function, called here, with hints printed."""
        drawn = self.drawn(seed)
        answers = []
        for _, arguments in drawn:
            try:
                answers.append(function(*copy.deepcopy(list(arguments.values()))))
            except Exception as error:
                answers.append(Wrong(f"it raises {type(error).__name__}"))
        truths = [self.truth(**arguments) for _, arguments in drawn]
        points, hints = self.marks(drawn, truths, answers)
        for part, hint in hints.items():
            print(f"{self.name}, {part}: {hint}")
        return float(sum(points.values()))
