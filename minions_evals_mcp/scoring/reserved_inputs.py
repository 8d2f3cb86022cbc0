"""Names of inputs that a test keeps for itself: none of them is a variable of its prompt."""

from __future__ import annotations

PREFIX, SUFFIX = "__prefix", "__suffix"
"""Inputs of a test that stand around its prompt."""
GIVEN = "__providerOutput"
"""The input of a test that brings its output: the output's digest."""
STORES, CONVERSATION = "__storeOutputAs", "__conversation"
"""Inputs of a test: the name under which its output is stored for the tests after it, and the conversation it is part of."""
TEST = "__test"
"""The input of a test of a config with hooks: the digest under which they are told it."""
COMPUTED = "__computed"
"""The input of a test with the variables whose values compute something, as prompts of text have them filled in."""
COUNTED_SPANS = "__countedSpans"
"""Where a trace holds spans of which names and times are known only: checks of spans count them, code is not told them."""
HIDDEN = frozenset({PREFIX, SUFFIX, GIVEN, STORES, CONVERSATION, TEST, COMPUTED})
"""Inputs that are no variables of the test."""
