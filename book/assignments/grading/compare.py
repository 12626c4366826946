"""Give marks and hints to what was collected; no code of a student is ever loaded here."""

from dataclasses import dataclass

from fsnotes.notebook.coursework import Wrong
from grading.collect import CALL_SECONDS, decoded

ERRORS = {
    "missing": "there is no such function",
    "OutOfTime": f"it takes more than {CALL_SECONDS} s",
    "NotNumbers": "it returns something that is not made of numbers",
    "time": "it was stopped, since it takes too long",
    "output": "the notebook wrote too much, and was stopped before this was called",
    "early": "Python was ended before this returned",
}


@dataclass(frozen=True)
class Marks:
    """Points and hints, by question and part."""

    points: dict
    hints: dict

    @property
    def total(self):
        return sum(sum(parts.values()) for parts in self.points.values())


def marks(assignment, drawn, truths, found):
    """Marks of one submission.

    Parameters
    ----------
    assignment : Assignment
    drawn, truths : dict
        By the name of a question: its cases, and what is right in each.
    found : dict
        What `collected` returned.
    """
    points, hints = {}, {}
    for question in assignment.questions.values():
        answers = [answer(one) for one in found["answers"][question.name]]
        points[question.name], hints[question.name] = question.marks(
            drawn[question.name], truths[question.name], answers
        )
    return Marks(points, hints)


def answer(event):
    """An answer, or why there is none."""
    if "answer" in event:
        return decoded(event["answer"])
    error = event["error"]
    return Wrong(ERRORS.get(error) or f"it raises {error}")
