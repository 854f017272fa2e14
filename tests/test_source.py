from portagpu.source import Span


def test_carets_stand_under_the_span_even_after_tabs() -> None:
    span = Span(filename="k.py", line=3, column=1, end_column=4, text="\tabc = 1")
    assert span.excerpt() == "k.py:3\n    \tabc = 1\n    \t^^^"
