"""Readers by what they answer: histories, lists, report units, labels, changes; nothing here writes."""
