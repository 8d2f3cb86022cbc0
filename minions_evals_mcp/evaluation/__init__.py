"""Evaluation of a Python function: cases in, a kept and compared result out."""
