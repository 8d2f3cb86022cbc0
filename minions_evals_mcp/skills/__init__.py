"""Skills: Markdown files that say what the engine and the agent do, when, and with which parameters."""

from minions_evals_mcp.skills.loading import HARD_RULES, NAMES, load_skills
from minions_evals_mcp.skills.skill import ClassifyFailureParameters, DetectTrendParameters, OwnSkill, Skill, Skills

__all__ = [
    "HARD_RULES",
    "NAMES",
    "ClassifyFailureParameters",
    "DetectTrendParameters",
    "OwnSkill",
    "Skill",
    "Skills",
    "load_skills",
]
